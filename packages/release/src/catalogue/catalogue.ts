import { setImmediate } from 'node:timers/promises';
import { foreign } from '@flotilla/api';
import { z } from 'zod';
import { namesOf, quoted, ReleaseError, ReleaseErrorCode } from '../errors.ts';
import { Channel, headOfChannel } from './channel-head.ts';
import { type CatalogueFile, catalogueLimits, catalogueName, invalidFile, readDocuments } from './documents.ts';
import { withoutIgnored } from './index-ignore.ts';

/** A package and one of its channels. */
export interface PackageChannel {
  readonly package: string;
  /** Empty: the default channel of its catalogue. */
  readonly channel: string;
}

/** `package:channel`, or a package alone for its default channel; blanks do not matter. Undefined when it is no such thing. */
export function parsePackageChannel(text: string): PackageChannel | undefined {
  const [name = '', channel, ...more] = text.replaceAll(/\s/g, '').split(':');
  return name === '' || channel === '' || more.length > 0 ? undefined : { package: name, channel: channel ?? '' };
}

/** An image that a bundle uses. */
interface RelatedImage {
  /** Name within the bundle; often empty. */
  readonly name: string;
  /** As the vendor wrote it: it may be no name that a runtime takes. */
  readonly pullSpec: string;
}

/** The head of a channel and what it needs. */
export interface ChannelHead extends PackageChannel {
  readonly bundle: string;
  readonly images: readonly RelatedImage[];
}

const PackageObject = z.object({ name: catalogueName, defaultChannel: z.string().max(512).optional() });
const BundleObject = z.object({
  package: catalogueName,
  name: catalogueName,
  properties: z.array(z.looseObject({ type: z.string(), value: z.unknown().optional() })).nullish(),
  relatedImages: z
    .array(z.object({ name: z.string().max(512).nullish(), image: z.string().nullish() }))
    .max(5_000)
    .nullish(),
});
const PackageProperty = foreign(z.object({ version: z.string() }));
/** Which package an object belongs to, before anything else of it is checked. */
const Header = foreign(z.object({ schema: z.string(), package: z.unknown().optional(), name: z.unknown().optional() }));

interface Bundle {
  readonly version: string | undefined;
  readonly images: readonly RelatedImage[];
}

/** The wanted part of one index's file-based catalogue. */
export interface Catalogue {
  readonly packages: ReadonlySet<string>;
  /**
   * Head of a channel and its related images; undefined when the index does not have the package.
   * @throws ReleaseError when the package has no such channel, the channel no single head, or the head no bundle
   */
  head(wanted: PackageChannel): ChannelHead | undefined;
}

/**
 * Reads a file-based catalogue (what its `.indexignore` files leave of it): concatenated JSON or YAML with `olm.package`, `olm.channel` and `olm.bundle` objects. Only the
 * objects of `packages` are kept and checked field by field, so a broken object of another package disturbs nobody.
 * Between objects others have their turn, and the signal is looked at.
 * @throws ReleaseError `FLOTILLA_CATALOGUE_INVALID` naming file, object and field
 */
export async function readCatalogue(files: Iterable<CatalogueFile>, packages: Iterable<string>, signal?: AbortSignal): Promise<Catalogue> {
  const content = new Content(new Set(packages));
  let turn = performance.now();
  for (const file of withoutIgnored([...files]))
    for (const document of readDocuments(file)) {
      content.add(file, document);
      if (performance.now() - turn < TURN_MS) continue;
      await setImmediate();
      signal?.throwIfAborted();
      turn = performance.now();
    }
  return { packages: content.packages, head: (wanted) => content.head(wanted) };
}

/** Time for which reading keeps the event loop unless a single object takes longer, milliseconds. */
const TURN_MS = 25;

class Content {
  readonly packages = new Set<string>();
  readonly #wanted: ReadonlySet<string>;
  readonly #defaults = new Map<string, string>();
  readonly #channels = new Map<string, Map<string, Channel>>();
  readonly #bundles = new Map<string, Map<string, Bundle>>();
  #objects = 0;

  constructor(wanted: ReadonlySet<string>) {
    this.#wanted = wanted;
  }

  add(file: CatalogueFile, document: unknown): void {
    if (++this.#objects > catalogueLimits.objects) throw invalidFile(file, `is beyond the first ${catalogueLimits.objects} objects`);
    const header = Header.safeParse(document);
    if (!header.success) throw invalidFile(file, `has an object without the field schema (object ${this.#objects})`);
    const { schema, name, package: owner } = header.data;
    if (schema === 'olm.package') this.#addPackage(read(file, PackageObject, document, 'olm.package'));
    if (typeof owner !== 'string' || !this.#wanted.has(owner)) return;
    const label = `${schema} ${quoted(typeof name === 'string' ? name : '')} of package ${quoted(owner)}`;
    if (schema === 'olm.channel') this.#addChannel(file, read(file, Channel, document, label), label);
    if (schema === 'olm.bundle') this.#addBundle(file, read(file, BundleObject, document, label), label);
  }

  #addPackage({ name, defaultChannel = '' }: z.output<typeof PackageObject>): void {
    this.packages.add(name);
    if (defaultChannel !== '') this.#defaults.set(name, defaultChannel);
  }

  #addChannel(file: CatalogueFile, channel: Channel, label: string): void {
    // a package may be known by its channels alone
    this.packages.add(channel.package);
    const channels = ofPackage(this.#channels, channel.package);
    if (channels.has(channel.name)) throw invalidFile(file, `has ${label} a second time`);
    channels.set(channel.name, channel);
  }

  #addBundle(file: CatalogueFile, bundle: z.output<typeof BundleObject>, label: string): void {
    const bundles = ofPackage(this.#bundles, bundle.package);
    if (bundles.has(bundle.name)) throw invalidFile(file, `has ${label} a second time`);
    const property = PackageProperty.safeParse(bundle.properties?.find(({ type }) => type === 'olm.package')?.value);
    bundles.set(bundle.name, { version: property.data?.version, images: relatedImages(bundle) });
  }

  head({ package: owner, channel: asked }: PackageChannel): ChannelHead | undefined {
    if (!this.packages.has(owner)) return undefined;
    const wanted = asked === '' ? this.#defaults.get(owner) : asked;
    if (wanted === undefined) throw noDefault(owner, this.#channels.get(owner)?.keys() ?? []);
    const channel = this.#channels.get(owner)?.get(wanted);
    if (!channel) throw unknownChannel(owner, wanted, this.#channels.get(owner)?.keys() ?? []);
    const bundles = this.#bundles.get(owner);
    const { name } = headOfChannel(channel, (bundle) => bundles?.get(bundle)?.version);
    const bundle = bundles?.get(name);
    if (!bundle)
      throw new ReleaseError(
        ReleaseErrorCode.bundleUnknown,
        `head ${quoted(name)} of channel ${quoted(wanted)} of package ${quoted(owner)} has no olm.bundle; use a corrected index`,
      );
    return { package: owner, channel: wanted, bundle: name, images: bundle.images };
  }
}

function ofPackage<T>(map: Map<string, Map<string, T>>, owner: string): Map<string, T> {
  const found = map.get(owner) ?? new Map<string, T>();
  map.set(owner, found);
  return found;
}

function unknownChannel(owner: string, channel: string, known: Iterable<string>): ReleaseError {
  return new ReleaseError(
    ReleaseErrorCode.channelUnknown,
    `operators.packagesAndChannels: package ${quoted(owner)} has no channel ${quoted(channel)}; its channels are ${namesOf(known)}`,
  );
}

function noDefault(owner: string, known: Iterable<string>): ReleaseError {
  return new ReleaseError(
    ReleaseErrorCode.channelUnknown,
    `operators.packagesAndChannels: package ${quoted(owner)} names no default channel; its channels are ${namesOf(known)}: write package:channel`,
  );
}

/** No index has the package: what is wrong and what there is. */
export function unknownPackage(owner: string, known: Iterable<string>): ReleaseError {
  return new ReleaseError(
    ReleaseErrorCode.packageUnknown,
    `operators.packagesAndChannels: no index has package ${quoted(owner)}; the indexes have ${namesOf([...known].sort())}`,
  );
}

/** Related images without the empty ones that real bundles carry, each pull spec once. */
function relatedImages(bundle: z.output<typeof BundleObject>): RelatedImage[] {
  const images = new Map<string, RelatedImage>();
  for (const { name, image } of bundle.relatedImages ?? []) {
    const pullSpec = image?.trim() ?? '';
    if (pullSpec !== '' && !images.has(pullSpec)) images.set(pullSpec, { name: name ?? '', pullSpec });
  }
  return [...images.values()];
}

function read<T>(file: CatalogueFile, schema: z.ZodType<T>, document: unknown, label: string): T {
  const parsed = foreign(schema).safeParse(document);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw invalidFile(file, `has a wrong field in ${label}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
}
