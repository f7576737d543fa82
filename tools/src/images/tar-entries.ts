import { pipeline, type Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { extract, type Header } from 'tar-stream';

/** One entry of a tar stream. */
interface TarEntry {
  readonly header: Header;
  /** Bytes of a file that was wanted; undefined otherwise. */
  readonly bytes: Buffer | undefined;
}

/** Reads a tar stream to its end; the content of files for which `isWanted` answers yes comes with them. */
export async function* tarEntries(
  stages: [Readable, ...NodeJS.ReadWriteStream[]],
  isWanted: (name: string) => boolean,
): AsyncGenerator<TarEntry> {
  const archive = extract();
  // A failure upstream ends the archive with that error, and so the loop below.
  pipeline([...stages, archive], () => undefined);
  for await (const entry of archive) {
    const { header } = entry;
    const bytes = header.type === 'file' && isWanted(header.name) ? await buffer(entry) : undefined;
    if (!bytes) entry.resume();
    yield { header, bytes };
  }
}
