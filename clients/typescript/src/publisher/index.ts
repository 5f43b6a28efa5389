/** What an editor's extension needs to publish what its user looks at: `workspaced-client/publisher`. */

export type {
  DaemonStatus,
  EditorView,
  Outcome,
  PublisherOptions,
  PublisherStatus,
  TabSource,
  VaultStatus,
} from "./api.js";
export { secondsOf } from "./duration.js";
export { Publisher } from "./publisher.js";
