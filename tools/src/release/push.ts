import { join } from 'node:path';
import { bytes } from '@flotilla/api/units';
import { formatImageReference, OciLayout, parseDockerConfig, parseImageReference, publishLayout, RegistryClient } from '@flotilla/registry';
import { type Signer, signPublished } from './sign.ts';

/** A release and its registry. */
interface PushOptions {
  /** Folder of the release. */
  readonly output: string;
  /** `host[:port][/path]` */
  readonly registry: string;
  readonly insecure: boolean;
  /** Credentials as text of Docker's config.json; default: none. */
  readonly auth?: string;
  /** Default: nothing is signed. */
  readonly signer?: Signer;
  readonly log: (message: string) => void;
}

/** Publishes a release's images and charts, and signs them. Throws what `publishLayout` throws. */
export async function pushRelease({ output, registry, insecure, auth, signer, log }: PushOptions): Promise<void> {
  const prefix = registry.replace(/\/+$/, '');
  const { host } = parseImageReference(`${prefix}/any:tag`);
  const credentials = auth ? parseDockerConfig(auth) : undefined;
  await using client = new RegistryClient({ ...(insecure && { insecureHosts: [host] }), ...(credentials && { credentials }) });
  const published = await publishLayout({ client, layout: OciLayout.read(join(output, 'images')), prefix });
  const names = published.map(({ reference, digest }) => `${reference.host}/${reference.repository}@${digest}`);
  for (const { reference, bytes: sent } of published) log(`pushed ${formatImageReference(reference)} (${bytes(sent)} sent)`);
  if (signer) await signPublished(names, { ...signer, insecure, ...(auth && { auth }) });
}
