import {
  type Catalogue,
  type CatalogueFile,
  type ChannelHead,
  isCataloguePath,
  type PackageChannel,
  ReleaseError,
  ReleaseErrorCode,
  readCatalogue,
  unknownPackage,
} from '@flotilla/release';
import type { ImageSource } from './image-source.ts';
import { SoftwareErrorCode, SpecError } from './pull-spec.ts';

/** Label of an index image with the path of its catalogue. */
const CONFIGS_LABEL = 'operators.operatorframework.io.index.configs.v1';
const DEFAULT_CONFIGS = '/configs';

/** The largest public indexes carry about 100 MB of catalogue. */
const limits = { maxFileBytes: 256 * 1024 * 1024, maxTotalBytes: 512 * 1024 * 1024 } as const;

/**
 * Lists the channel heads of every wanted package, from every index that has it. Indexes are read one by one, because a catalogue is this program's
 * largest use of memory.
 * @throws ReleaseError when no index has a package, or none of its indexes has the channel
 */
export async function listOperatorHeads(
  source: ImageSource,
  { indexes, packages }: { indexes: readonly string[]; packages: readonly PackageChannel[] },
  signal: AbortSignal,
): Promise<ChannelHead[]> {
  const known = new Set<string>();
  const answers = new Map<PackageChannel, Answer>(packages.map((wanted) => [wanted, { heads: [] }]));
  for (const index of indexes) {
    const catalogue = await loadCatalogue(source, index, packages, signal);
    for (const name of catalogue.packages) known.add(name);
    for (const [wanted, answer] of answers) collect(answer, catalogue, wanted);
  }
  return [...answers].flatMap(([wanted, { heads, refusal }]) => {
    if (heads.length > 0) return heads;
    throw refusal ?? unknownPackage(wanted.package, known);
  });
}

interface Answer {
  readonly heads: ChannelHead[];
  refusal?: ReleaseError;
}

/** Collects a package's head. An unknown channel may be in another index; any other error is a defect of the index. */
function collect(answer: Answer, catalogue: Catalogue, wanted: PackageChannel): void {
  try {
    const head = catalogue.head(wanted);
    if (head) answer.heads.push(head);
  } catch (error) {
    if (!(error instanceof ReleaseError) || error.code !== ReleaseErrorCode.channelUnknown) throw error;
    answer.refusal ??= error;
  }
}

async function loadCatalogue(
  source: ImageSource,
  index: string,
  packages: readonly PackageChannel[],
  signal: AbortSignal,
): Promise<Catalogue> {
  const image = await source.resolve(index, signal);
  const folder = configsFolder(index, image.labels[CONFIGS_LABEL]);
  const found = await source.readFiles(image, { match: (path) => path.startsWith(folder) && isCataloguePath(path), ...limits }, signal);
  if (found.size === 0)
    throw new SpecError(
      SoftwareErrorCode.imageUnsuitable,
      `operators.indexes ${index} has no file-based catalogue under /${folder}; name an index image with one (databases are not read)`,
    );
  const files: CatalogueFile[] = [...found].map(([path, content]) => ({ path, content })).sort((a, b) => (a.path < b.path ? -1 : 1));
  return readCatalogue(
    files,
    packages.map((wanted) => wanted.package),
    signal,
  );
}

/** Returns the folder as layers name paths: without a leading slash, with a final one. */
function configsFolder(index: string, label: string | undefined): string {
  const parts = (label?.trim() || DEFAULT_CONFIGS).split('/').filter((part) => part !== '' && part !== '.');
  if (parts.length === 0 || parts.includes('..'))
    throw new SpecError(
      SoftwareErrorCode.imageUnsuitable,
      `operators.indexes ${index} has the label ${CONFIGS_LABEL}=${JSON.stringify(label?.slice(0, 120))}, which is no folder`,
    );
  return `${parts.join('/')}/`;
}
