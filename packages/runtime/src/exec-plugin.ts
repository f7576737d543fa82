import { spawn } from 'node:child_process';
import { basename } from 'node:path';
import { errorMessage, readJson } from '@flotilla/api';
import { z } from 'zod';
import type { Provided } from './credential-provider.ts';
import { type ApiError, RuntimeErrorCode, transportError } from './errors.ts';
import type { ClusterAccess } from './kubeconfig-file.ts';

/** Somebody may have to log in meanwhile. */
const MOST_MS = 5 * 60_000;
/** A person who waits longer is told for whom. */
const NOTICE_MS = 2_000;
/** Longest output that is read, in characters. */
const MAX_OUTPUT = 1024 * 1024;
/** Longest words of a plug-in in an error, in characters. */
const MAX_WORDS = 300;

const text = z
  .string()
  .nullish()
  .transform((value) => value || undefined);
const Exec = z.object({
  apiVersion: z.string().default('client.authentication.k8s.io/v1'),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string().min(1), value: z.string().default('') })).nullish(),
  installHint: text,
  interactiveMode: text,
  provideClusterInfo: z.boolean().nullish(),
});
type Exec = z.output<typeof Exec>;

const ExecCredential = z.object({
  kind: z.literal('ExecCredential'),
  status: z
    .object({ token: text, clientCertificateData: text, clientKeyData: text, expirationTimestamp: text })
    .refine(({ token, clientCertificateData }) => token !== undefined || clientCertificateData !== undefined),
});
type Credential = z.output<typeof ExecCredential>['status'];

interface PluginOptions {
  /** Takes the plug-in's standard error as it comes, and the notice of a wait. Default: this program's own standard error. */
  readonly write?: (text: string) => void;
  /** Milliseconds until the plug-in is killed; default five minutes. */
  readonly timeoutMs?: number;
}

/**
 * Asks the exec plug-in of a kubeconfig's user; the credential is given again until it runs out.
 * @throws ApiError `FLOTILLA_EXEC_PLUGIN` naming the plug-in, how it ended, and its words
 */
export function execPlugin(
  access: ClusterAccess,
  { write = (said) => void process.stderr.write(said), timeoutMs = MOST_MS }: PluginOptions = {},
): () => Promise<Provided> {
  let last: Credential | undefined;
  return async () => {
    if (last === undefined || isOver(last)) last = await ask(access, { write, timeoutMs });
    return {
      headers: { ...(last.token !== undefined && { authorization: `Bearer ${last.token.trim()}` }) },
      ...(last.clientCertificateData !== undefined && { cert: last.clientCertificateData }),
      ...(last.clientKeyData !== undefined && { key: last.clientKeyData }),
    };
  };
}

const isOver = ({ expirationTimestamp }: Credential): boolean =>
  expirationTimestamp !== undefined && !(Date.parse(expirationTimestamp) > Date.now());

async function ask(access: ClusterAccess, options: Required<PluginOptions>): Promise<Credential> {
  const parsed = Exec.safeParse(access.user.provider?.exec);
  if (!parsed.success) throw failure('', `cannot be used: ${z.prettifyError(parsed.error)}: correct users[].user.exec of the kubeconfig`);
  const exec = parsed.data;
  const notice = setTimeout(() => options.write(`waiting for exec plug-in ${nameOf(exec)}\n`), NOTICE_MS);
  try {
    const output = await run(exec, access, options);
    // No part of it is shown: it may hold a token.
    const credential = ExecCredential.safeParse(readJson(output));
    if (credential.success) return credential.data.status;
    throw failure(nameOf(exec), `printed no ExecCredential with a token or a certificate: run it by hand${hintOf(exec)}`);
  } finally {
    clearTimeout(notice);
  }
}

const nameOf = ({ command }: Exec): string => basename(command);
const hintOf = ({ installHint }: Exec): string => (installHint === undefined ? '' : `; ${plain(installHint)}`);

/** Standard output of a run that ended well. */
function run(exec: Exec, access: ClusterAccess, { write, timeoutMs }: Required<PluginOptions>): Promise<string> {
  const isInteractive = exec.interactiveMode !== 'Never' && process.stdin.isTTY === true;
  return new Promise((resolve, reject) => {
    const child = spawn(exec.command, exec.args ?? [], {
      // biome-ignore lint/style/noProcessEnv: a plug-in inherits all variables, as from Kubernetes' own clients, and none of them is read
      env: { ...process.env, ...environmentOf(exec, access, isInteractive) },
      stdio: [isInteractive ? 'inherit' : 'ignore', 'pipe', 'pipe'],
      // Option `timeout` keeps a program alive for as long where the child never began.
      signal: AbortSignal.timeout(timeoutMs),
      killSignal: 'SIGKILL',
    });
    const fail = (ended: string) => {
      const said = plain(words);
      reject(failure(nameOf(exec), `${ended}${said === '' ? '' : `: ${said}`}: log in again, or name another --context${hintOf(exec)}`));
    };
    let [output, words] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      output += part;
      if (output.length > MAX_OUTPUT) child.kill('SIGKILL');
    });
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      write(part);
      words = `${words}${part}`.slice(-MAX_WORDS * 4);
    });
    child.once('error', (error) => {
      if (error.name === 'AbortError') fail(`took longer than ${timeoutMs / 1000} s`);
      else reject(cannotRun(exec, error));
    });
    // A child of the killed plug-in may hold its pipes open.
    child.once('exit', (_, signal) => {
      if (signal) for (const pipe of [child.stdout, child.stderr]) pipe.destroy();
    });
    child.once('close', (code, signal) => {
      if (code === 0) resolve(output);
      else fail(code === null ? `was ended by ${signal}` : `ended with ${code}`);
    });
  });
}

function cannotRun(exec: Exec, error: NodeJS.ErrnoException): ApiError {
  if (error.code !== 'ENOENT') return failure(nameOf(exec), `cannot be run: ${errorMessage(error)}: correct it${hintOf(exec)}`, error);
  const how =
    exec.installHint === undefined ? 'install it, or correct users[].user.exec.command of the kubeconfig' : plain(exec.installHint);
  return failure(nameOf(exec), `is not there: ${how}`, error);
}

/** Variables of the plug-in: those of the kubeconfig, and for whom it is asked. */
function environmentOf({ apiVersion, env, provideClusterInfo }: Exec, access: ClusterAccess, interactive: boolean): Record<string, string> {
  const cluster = {
    server: access.server,
    'tls-server-name': access.serverName,
    'insecure-skip-tls-verify': access.skipsVerification || undefined,
    'certificate-authority-data': access.certificateAuthority.data,
    'proxy-url': access.proxyUrl,
  };
  const spec = { interactive, ...(provideClusterInfo && { cluster }) };
  return {
    ...Object.fromEntries((env ?? []).map(({ name, value }) => [name, value])),
    KUBERNETES_EXEC_INFO: JSON.stringify({ apiVersion, kind: 'ExecCredential', spec }),
  };
}

/** The end of a plug-in's words on one line, without anything that moves a cursor. */
function plain(words: string): string {
  const line = words
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return line.length <= MAX_WORDS ? line : `…${line.slice(1 - MAX_WORDS)}`;
}

const failure = (name: string, says: string, cause?: unknown): ApiError =>
  transportError(RuntimeErrorCode.execPlugin, `exec plug-in${name && ` ${name}`}`, says, cause);
