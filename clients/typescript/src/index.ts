/** Tells the workspaced daemon what an editor shows, follows its events and calls its tools. */

export { type Client, connect } from "./client.js";
export { type Context, type ContextMessage } from "./context.js";
export { type DaemonRecord, findDaemon, runningDaemons } from "./discovery.js";
export {
  ClientClosed,
  type ErrorCode,
  InvalidArgument,
  NoDaemon,
  QueueFull,
  RemoteError,
  RequestTooLarge,
  TimedOut,
  WorkspacedError,
} from "./errors.js";
export { newId } from "./ids.js";
export { overlayFetch, type OverlayOptions } from "./overlay/fetch.js";
export { type Subscription } from "./subscription.js";
export type {
  Clock,
  ConnectionState,
  ConnectOptions,
  EventType,
  Exported,
  MethodName,
  MethodResults,
  Notice,
  Overlay,
  Pause,
  Pipeline,
  Published,
  Receipt,
  Recorded,
  Selection,
  ServerInfo,
  SubscribeOptions,
  Target,
  ToolAnswer,
  ToolName,
  View,
} from "./api.js";
export type * from "./types.generated.js";
