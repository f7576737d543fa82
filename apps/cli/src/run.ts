/** Runs a command with its arguments and options as they were typed. */
export type Run = (args: readonly string[], options: Readonly<Record<string, unknown>>) => Promise<void>;

/** Exit codes, the same for all commands. */
export const Exit = {
  /** It is so, or it is done. */
  yes: 0,
  /** The command could not find out. */
  unknown: 1,
  /** The command was typed wrong. */
  usage: 2,
  /** The answer is no: refused, failed, differs, does not fit. */
  no: 3,
  /** The time is up. */
  timeUp: 4,
} as const;

/** Sets the exit code; the process ends when nothing is left to do. */
export function endWith(code: (typeof Exit)[keyof typeof Exit]): void {
  process.exitCode = code;
}
