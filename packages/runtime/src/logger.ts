import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';

/** The log every part takes through its options; pino's own. */
export type Logger = PinoLogger;

/** Options of a logger. */
export interface LoggerOptions {
  /** `error` a human should look, `warn` degraded, `info` state changed, `debug` decisions, `silent` nothing. Default `info`. */
  readonly level?: 'error' | 'warn' | 'info' | 'debug' | 'silent';
  /** Program name, in every line. */
  readonly name: string;
  /** One readable line instead of JSON. Default false. */
  readonly pretty?: boolean;
  /** Default: stdout, synchronously. */
  readonly destination?: DestinationStream;
}

/** Keys whose values never reach the log. */
export const SECRET_KEYS = [
  'token',
  'authorization',
  'Authorization',
  'password',
  'auth',
  'secret',
  'identitytoken',
  'kubeconfig',
  'clientKey',
  'client-key-data',
  '.dockerconfigjson',
] as const;

/** `*.token` does not match a top-level `token`, so every depth is listed; deeper than three levels nothing of ours is logged. */
const REDACT_PATHS: readonly string[] = SECRET_KEYS.flatMap((key) => {
  const last = /^[A-Za-z]+$/.test(key) ? key : `["${key}"]`;
  const join = (prefix: string): string => (last.startsWith('[') ? `${prefix}${last}` : prefix ? `${prefix}.${last}` : last);
  return ['', '*', '*.*', '*.*.*'].map(join);
});

/** JSON lines on stdout with secrets redacted. */
export function createLogger(options: LoggerOptions): Logger {
  const destination = options.destination ?? pino.destination({ fd: 1, sync: true });
  return pino(
    {
      name: options.name,
      level: options.level ?? 'info',
      base: { name: options.name },
      redact: { paths: [...REDACT_PATHS], censor: '[redacted]' },
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    options.pretty ? { write: (line: string) => destination.write(prettyLine(line)) } : destination,
  );
}

/** `12:30:45.123 INFO  Draining node cluster=spoke-7`. Written here so that bundles need no worker thread. */
export function prettyLine(line: string): string {
  try {
    const { time, level, msg, name: _name, err, ...fields } = JSON.parse(line);
    const details = Object.entries(fields).map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
    if (err?.message) details.push(`err=${JSON.stringify(err.message)}`);
    return `${[String(time).slice(11, 23), String(level).toUpperCase().padEnd(5), msg, ...details].join(' ')}\n`;
  } catch {
    return line;
  }
}
