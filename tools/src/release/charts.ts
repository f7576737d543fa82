import { cp, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FlotillaError } from '@flotilla/api';
import { runCommand } from '@flotilla/control-plane/processes';
import { MediaType, type OciLayout } from '@flotilla/registry';
import { parse, parseDocument } from 'yaml';
import { z } from 'zod';
import type { AppName } from '../images/apps.ts';
import { type ReleaseSource, repositoryOf } from './source.ts';

/** Folder of a chart → path of an image's values → the program whose image it is. */
const IMAGES: Readonly<Record<string, readonly (readonly [path: readonly string[], app: AppName])[]>> = {
  hub: [
    [['image'], 'hub'],
    [['precacheImage'], 'image-puller'],
    [['console', 'image'], 'console'],
  ],
  spoke: [
    [['image'], 'spoke-agent'],
    [['upgradeOperator', 'image'], 'upgrade-operator'],
    [['versionOperator', 'image'], 'version-operator'],
  ],
};

/** What charts are packaged with. */
interface ChartOptions {
  readonly root: string;
  /** Folder of the packages; made. */
  readonly output: string;
  readonly helm: string;
  readonly source: ReleaseSource;
  /** Digest of each program's image. */
  readonly digests: Readonly<Partial<Record<AppName, string>>>;
  /** Registry and path that the charts take images from; empty: whoever installs says it. */
  readonly registry: string;
}

/** A packaged chart. */
export interface PackagedChart {
  readonly name: string;
  readonly file: string;
}

/** Packages every chart with the release's version and the digests of its images as defaults. */
export async function packageCharts(options: ChartOptions): Promise<PackagedChart[]> {
  await mkdir(options.output, { recursive: true });
  const packaged: PackagedChart[] = [];
  for (const folder of Object.keys(IMAGES)) packaged.push(await packageChart(folder, options));
  return packaged;
}

async function packageChart(folder: string, options: ChartOptions): Promise<PackagedChart> {
  const { root, output, helm, source } = options;
  const scratch = await mkdtemp(join(tmpdir(), 'flotilla-chart-'));
  try {
    const chart = join(scratch, folder);
    await cp(join(root, 'charts', folder), chart, { recursive: true });
    await pinImages(folder, join(chart, 'values.yaml'), options);
    const schema = join(chart, 'values.schema.json');
    await writeFile(schema, `${JSON.stringify(withHints(z.json().parse(JSON.parse(await readFile(schema, 'utf8')))), undefined, 2)}\n`);
    // Helm packs the times of the files.
    for (const path of await readdir(chart, { recursive: true })) await utimes(join(chart, path), source.committedAt, source.committedAt);
    const version = ['--version', source.version, '--app-version', source.version];
    await runCommand(helm, ['package', chart, '--destination', output, ...version], { env: { HOME: scratch } });
    const { name } = z.object({ name: z.string() }).parse(parse(await readFile(join(chart, 'Chart.yaml'), 'utf8')));
    return { name, file: join(output, `${name}-${source.version}.tgz`) };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function pinImages(folder: string, file: string, { root, source, digests, registry }: ChartOptions): Promise<void> {
  const values = parseDocument(await readFile(file, 'utf8'));
  for (const [path, app] of IMAGES[folder] ?? []) {
    if (!values.hasIn([...path, 'digest']))
      throw new FlotillaError('FLOTILLA_RELEASE_CHART', `charts/${folder}/values.yaml has no ${path.join('.')}.digest`);
    values.setIn([...path, 'digest'], digests[app] ?? '');
  }
  values.set('imageRegistry', registry);
  values.set('runbooksUrl', `${await repositoryOf(root)}/blob/v${source.version}/docs/runbooks.md`);
  await writeFile(file, values.toString({ lineWidth: 0 }));
}

/** Adds a packaged chart to a layout as helm pushes it: its Chart.yaml as configuration, the package as layer. */
export async function addChart(layout: OciLayout, { name, file }: PackagedChart, { helm, reference, source }: ChartPlace): Promise<void> {
  const metadata: unknown = parse(await runCommand(helm, ['show', 'chart', file]));
  const config = {
    mediaType: 'application/vnd.cncf.helm.config.v1+json',
    ...(await layout.putBlob(Buffer.from(JSON.stringify(metadata)))),
  };
  const content = { mediaType: 'application/vnd.cncf.helm.chart.content.v1.tar+gzip', ...(await layout.putBlob(await readFile(file))) };
  const annotations = {
    'org.opencontainers.image.title': name,
    'org.opencontainers.image.version': source.version,
    'org.opencontainers.image.revision': source.commit,
  };
  const manifest = { schemaVersion: 2, mediaType: MediaType.ociManifest, config, layers: [content], annotations };
  const written = await layout.putBlob(Buffer.from(JSON.stringify(manifest)));
  await layout.addImage({ mediaType: MediaType.ociManifest, ...written }, reference);
}

interface ChartPlace {
  readonly helm: string;
  /** Name in the layout. */
  readonly reference: string;
  readonly source: ReleaseSource;
}

/** JSON as a schema is written in. */
type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
type JsonObject = { readonly [key: string]: Json };

const isObject = (json: Json | undefined): json is JsonObject => typeof json === 'object' && json !== null && !Array.isArray(json);

/**
 * A schema of values with hints. Helm prints what a schema says and nothing else, so the hints are conditions that a wrong value fails too:
 * a name that is nearly right has to be the right one, and a text of another pattern may be its example.
 */
export function withHints(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withHints);
  if (!isObject(schema)) return schema;
  const { pattern, examples, ...rest } = schema;
  const { properties, additionalProperties } = schema;
  const below = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, withHints(value)]));
  const hinted: JsonObject = { ...below, ...(pattern !== undefined && patternOf(pattern, examples)) };
  if (!isObject(properties) || additionalProperties !== false) return hinted;
  const names = Object.keys(properties);
  return { ...hinted, propertyNames: { allOf: names.map((name) => nearly(name, names)) } };
}

function patternOf(pattern: Json, examples: Json | undefined): JsonObject {
  if (!Array.isArray(examples)) return { pattern };
  return { anyOf: [{ pattern }, { enum: examples.map((example) => `for example ${String(example)}`) }] };
}

/** Names that differ from `name` in one letter or in case must be one of those that are there. */
function nearly(name: string, names: readonly string[]): JsonObject {
  const pattern = `^(${Array.from(name, (_, index) => `${name.slice(0, index)}.{0,2}${name.slice(index + 1)}`).join('|')})$`;
  const near = new RegExp(pattern, 'i');
  return { if: { not: { pattern: `(?i)${pattern}` } }, else: { enum: names.filter((each) => near.test(each)) } };
}
