import { contracts } from '../src/builders/contracts.ts';
import { builderOf } from '../src/builders/dispatch.ts';
import { isSameContent } from '../src/builders/drift.ts';
import { type Json, objectAt, textAt } from '../src/json-values.ts';
import { groupOf } from '../src/payload/manifest.ts';

/** Builder of any kind without rules of its own. */
const generic = builderOf({ group: 'none.test', version: 'v1', kind: 'None' });

/**
 * Contracts that may give a field of a live object away which its release has otherwise, by their names in docs/version-operator.md.
 * @param path the field: `metadata.labels.a`, `spec.ports[0].name`
 */
export function contractsOver(live: Json, manifest: Json, path: string): ReadonlySet<string> {
  const apiVersion = textAt(manifest.apiVersion);
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
  const builder = builderOf({ group: groupOf(apiVersion), version, kind: textAt(manifest.kind) });
  const [field = ''] = path.split(/[.[]/);
  const built = builder.build(manifest, {});
  return new Set([
    ...contracts.filter(({ keep }) => !isSameContent(keep(live, built), built)).map(({ name }) => name),
    ...(builder === generic ? [] : ['merge rules of a kind']),
    ...(field === 'metadata' ? ['metadata'] : []),
    ...(field in objectAt(manifest) ? [] : ['top-level fields']),
  ]);
}
