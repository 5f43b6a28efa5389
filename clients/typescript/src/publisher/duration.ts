/** Durations as people write them. */

const UNITS = { d: 86_400, h: 3_600, m: 60, s: 1 } as const;

/** The seconds of `45s`, `30m`, `1h30m` or `2d`; undefined if it is none. */
export function secondsOf(duration: string): number | undefined {
  const parts = /^(?:(?<d>\d+)d)?(?:(?<h>\d+)h)?(?:(?<m>\d+)m)?(?:(?<s>\d+)s)?$/.exec(duration.trim())?.groups;
  if (parts === undefined) return undefined;
  const seconds = Object.entries(UNITS).reduce((sum, [unit, each]) => sum + Number(parts[unit] ?? 0) * each, 0);
  return seconds > 0 ? seconds : undefined;
}
