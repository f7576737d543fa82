/** Runs a command with its arguments and options as they were typed. */
export type Run = (args: readonly string[], options: Readonly<Record<string, unknown>>) => Promise<void>;
