import { objectAt } from '../json-values.ts';
import type { Manifest } from '../payload/manifest.ts';
import type { Finding } from './source.ts';
import { findingAt, type LintSource } from './source.ts';

/** Limits in bytes: etcd's default for one request, and those of API servers for annotations and for the data of a ConfigMap or Secret. */
const MOST = { object: 1.5 * 1024 * 1024, annotations: 256 * 1024, data: 1024 * 1024 } as const;

/** Objects that an API server refuses for their size. */
export function* checkSizes(source: LintSource): Generator<Finding> {
  for (const manifest of source.manifests)
    for (const [what, bytes, most, near] of sizesOf(manifest))
      if (bytes > most)
        yield findingAt(source, manifest, {
          rule: 'size',
          message: `${what} ${what === 'the object' ? 'has' : 'have'} ${bytes} bytes, an API server takes at most ${most}; split it`,
          near: [near],
        });
}

function sizesOf({ raw, object, annotations = {}, kind, group }: Manifest): [what: string, bytes: number, most: number, near: string][] {
  const sizes: [string, number, number, string][] = [
    ['the object', Buffer.byteLength(raw), MOST.object, 'kind'],
    ['its annotations', sum(Object.entries(annotations).flat()), MOST.annotations, 'annotations'],
  ];
  if (group === '' && (kind === 'ConfigMap' || kind === 'Secret')) {
    const texts = [object.data, object.binaryData, object.stringData].flatMap((data) => Object.values(objectAt(data)));
    sizes.push(['its data', sum(texts.map(String)), MOST.data, 'ata:']);
  }
  return sizes;
}

const sum = (texts: readonly string[]): number => texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);
