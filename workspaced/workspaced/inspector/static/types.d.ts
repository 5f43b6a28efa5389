// Generated from the repository's schemas/ by clients/typescript/scripts/generate.js; not edited by hand.

/** Stands here until there is a view. */
export interface Example {
  readonly lastSequence: number;
}
