import { createHash } from 'node:crypto';
import { foreign, type Ref, refKey } from '@flotilla/api';
import { ManifestAnnotation } from '@flotilla/api/config';
import {
  type BuildContext,
  type Builder,
  builderOf,
  buildObject,
  type ExpectedOperator,
  expectedOperator,
  type Json,
  type Manifest,
  textOfId,
} from '@flotilla/release';
import { z } from 'zod';

/** Key of an object's kind: `group/version/Kind`. */
const kindKeyOf = ({ group, version, kind }: Pick<Manifest, 'group' | 'version' | 'kind'>): string => `${group}/${version}/${kind}`;

/** A manifest that is to be applied, with what comparing it to a live object needs. Its text alone is kept. */
export class Wanted {
  readonly manifest: Manifest;
  readonly builder: Builder;
  readonly kindKey: string;
  /** Expectations of a ClusterOperator; undefined for any other object. */
  readonly expected: ExpectedOperator | undefined;
  /** Kinds that a CustomResourceDefinition brings; empty for any other object. */
  readonly defines: readonly string[];
  readonly #digest: string;
  #ref: Ref;

  constructor(manifest: Manifest) {
    this.manifest = manifest;
    this.builder = builderOf(manifest);
    this.kindKey = kindKeyOf(manifest);
    this.#ref = manifest;
    this.expected = this.kindKey === 'config.openshift.io/v1/ClusterOperator' ? expectedOperator(manifest.object) : undefined;
    this.defines = manifest.kind === 'CustomResourceDefinition' ? definedBy(manifest.object) : [];
    this.#digest = createHash('sha256').update(manifest.raw).digest('base64');
  }

  /** Namespace and name of the object: a kind that is served without namespaces has none, whatever its manifest says. */
  get ref(): Ref {
    return this.#ref;
  }

  get objectKey(): string {
    return refKey(this.#ref);
  }

  /** Notes where the kind is served. True when the object is at another place than its manifest says. */
  place({ namespaced }: { readonly namespaced: boolean }): boolean {
    if (namespaced || !this.#ref.namespace) return false;
    this.#ref = { name: this.manifest.name };
    return true;
  }

  /** The same for all manifests of an object: versions of an API do not count. */
  get identity(): string {
    // field by field: a copy of the manifest would read its object
    const { group, kind, name } = this.manifest;
    return textOfId({ group, kind, namespace: this.#ref.namespace ?? '', name });
  }

  /** Kind and name together: no other object of the cluster has it. */
  get key(): string {
    return `${this.kindKey}|${this.objectKey}`;
  }

  /** The object as it is to be on this cluster. @throws UpdateError for what cannot be built */
  build(context: BuildContext): Json {
    return buildObject(this.manifest, this.manifest.object, context);
  }

  /** Changes when the built object may. */
  fingerprint({ ownerUid, proxy, tls, apiServerUrl }: BuildContext): string {
    const { annotations } = this.manifest;
    const parts: unknown[] = [ownerUid];
    if (annotations?.[ManifestAnnotation.injectProxy]) parts.push(proxy);
    if (annotations?.[ManifestAnnotation.injectTls]) parts.push(tls);
    if (this.manifest.name === 'cluster-version-operator') parts.push(apiServerUrl);
    return `${this.#digest} ${JSON.stringify(parts)}`;
  }
}

/** Keeps the last of several manifests of one object, by identity. */
export const lastOfEach = (wanted: Iterable<Wanted>): Map<string, Wanted> => new Map([...wanted].map((one) => [one.identity, one]));

/** Objects that are in several places, by these in order. */
export const doubledIn = (wanted: readonly Wanted[]): { readonly object: string; readonly files: readonly string[] }[] =>
  [...Map.groupBy(wanted, ({ identity }) => identity).values()]
    .filter((same) => same.length > 1)
    .map((same) => ({ object: same[0]?.identity ?? '', files: same.map(({ manifest: { file, line } }) => `${file}:${line}`) }));

const Definition = foreign(
  z.object({
    spec: z.object({
      group: z.string(),
      names: z.object({ kind: z.string() }),
      versions: z.array(z.object({ name: z.string() })),
    }),
  }),
);

function definedBy(object: Json): string[] {
  const { spec } = Definition.safeParse(object).data ?? {};
  return spec?.versions.map(({ name }) => `${spec.group}/${name}/${spec.names.kind}`) ?? [];
}
