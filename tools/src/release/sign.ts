import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '@flotilla/control-plane/processes';
import { ensureTools } from '@flotilla/control-plane/toolchain';

type Log = (message: string) => void;

/** A key of cosign. */
export interface Signer {
  /** File, or `env://NAME`. */
  readonly key: string;
  readonly log: Log;
}

/** Signs a file by cosign; the signature lies beside it as `.sigstore.json`. */
export const signFile = (file: string, { key, log }: Signer): Promise<void> =>
  withCosign(log, async (cosign) => {
    await cosign(['sign-blob', '--key', key, '--bundle', `${file}.sigstore.json`, file]);
  });

/** How images are signed. */
interface SignOptions extends Signer {
  readonly insecure: boolean;
  /** Text of Docker's config.json. */
  readonly auth?: string;
}

/** Signs what is on a registry; cosign keeps each signature beside its image. */
export const signPublished = (images: readonly string[], { key, insecure, auth, log }: SignOptions): Promise<void> =>
  withCosign(log, async (cosign, home) => {
    if (auth) await writeFile(join(home, 'config.json'), auth, { mode: 0o600 });
    const plain = insecure ? ['--allow-http-registry', '--allow-insecure-registry'] : [];
    for (const image of images) {
      await cosign(['sign', '--key', key, ...plain, image]);
      log(`signed ${image}`);
    }
  });

type Cosign = (args: readonly string[]) => Promise<string>;

/** Runs cosign without services: no transparency log, no timestamps, no credentials of the user. */
async function withCosign(log: Log, work: (cosign: Cosign, home: string) => Promise<void>): Promise<void> {
  const program = (await ensureTools(['cosign'], { log })).path('cosign');
  const home = await mkdtemp(join(tmpdir(), 'flotilla-cosign-'));
  try {
    const config = join(home, 'signing-config.json');
    const env = { HOME: home, DOCKER_CONFIG: home };
    await runCommand(program, ['signing-config', 'create', '--out', config], { env });
    await work(
      ([command = '', ...rest]) =>
        runCommand(program, [command, '--yes', '--signing-config', config, ...rest], { env, timeoutMs: 120_000 }),
      home,
    );
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
