/** What the user set; kept by Obsidian in the plugin's `data.json`. */

export interface Preferences {
  /** Of the one daemon to tell; empty: whoever serves the vault's folder. */
  socket: string;
  /** The program `workspaced`. */
  command: string;
  /** Whether to start a daemon for this vault where none runs. */
  startDaemon: boolean;
  /** Whether the user was asked that. */
  wasAsked: boolean;
  /** Whether daemons are told what is selected. */
  shareSelection: boolean;
}

export const DEFAULTS: Preferences = {
  socket: "",
  command: "workspaced",
  startDaemon: false,
  wasAsked: false,
  shareSelection: true,
};

/** The preferences in what was kept, which may be anything; what does not fit gets its default. */
export function preferencesOf(kept: unknown): Preferences {
  const from = (typeof kept === "object" && kept !== null ? kept : {}) as Record<string, unknown>;
  const entries = Object.entries(DEFAULTS).map(([name, usual]) => {
    const value = from[name];
    return [name, typeof value === typeof usual ? value : usual];
  });
  return Object.fromEntries(entries) as Preferences;
}
