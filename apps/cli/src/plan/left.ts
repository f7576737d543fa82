/** Remains of earlier pulls on clusters, as objects of the hub show them. */
import { Annotation, isJsonObject, Label, type ObjectMeta, readJson, refKey } from '@flotilla/api';
import { ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, type PrecachingSpec, PullerReport, SpokeName } from '@flotilla/api/ran';
import { type Client, isForbidden } from '@flotilla/runtime';
import { nextStep } from '../complain.ts';
import { listServed } from '../hub/connect.ts';
import { whole } from '../hub/upgrades.ts';

/** Other upgrades whose images are looked up at most, the youngest. */
const MOST_EARLIER = 3;
const MOST_TEXT = 16_384;

/** A spec that an upgrade has pulled on clusters. */
interface EarlierPull {
  /** The upgrade, namespace/name. */
  readonly by: string;
  readonly spec: PrecachingSpec;
  readonly clusters: ReadonlySet<string>;
}

/** Everything that the hub knows of earlier pulls. */
export interface Left {
  /** Last report of the puller that runs, or failed, on a cluster. */
  readonly reports: ReadonlyMap<string, { readonly by: string; readonly report: PullerReport }>;
  readonly earlier: readonly EarlierPull[];
  /** Sentences on what could not be seen. */
  readonly notes: readonly string[];
}

/** Reads it, with the asker's rights: without them a plan knows less, and says so. */
export async function readLeft(client: Client, upgradeKey: string): Promise<Left> {
  const notes: string[] = [];
  const seen = async <T>(list: () => Promise<T[] | undefined>): Promise<T[]> => {
    try {
      return (await list()) ?? [];
    } catch (error) {
      if (!isForbidden(error)) throw error;
      notes.push(`what earlier pulls left is not seen: ${nextStep(error)}`);
      return [];
    }
  };
  const labelSelector = `${Label.work}=precache`;
  const [works, views, upgrades] = await Promise.all([
    seen(() => listServed(client, ManifestWork, { labelSelector })),
    seen(() => listServed(client, ManagedClusterView, { labelSelector })),
    seen(() => listServed(client, ClusterGroupUpgrade, { transform: pulledBy })),
  ]);
  const reports = new Map<string, { by: string; report: PullerReport }>();
  for (const { metadata, text } of [...works.map(progressOfWork), ...views.map(progressOfView)]) {
    const report = parseReport(text);
    if (report) reports.set(metadata.namespace ?? '', { by: 'a puller', report });
  }
  return { reports, earlier: earlierPulls(upgrades, upgradeKey), notes };
}

/** An upgrade without what no plan needs of it: thousands of clusters make a status of hundreds of kilobytes. */
function pulledBy(upgrade: ClusterGroupUpgrade): ClusterGroupUpgrade {
  const { metadata, status } = upgrade.status?.precaching ? whole(upgrade) : upgrade;
  const { spec, status: states } = status?.precaching ?? {};
  const pulled = Object.entries(states ?? {}).filter(([, state]) => state === 'Succeeded');
  if (!spec || pulled.length === 0) return { metadata };
  return { metadata, status: { precaching: { spec, status: Object.fromEntries(pulled) }, status: {} } };
}

function earlierPulls(upgrades: readonly ClusterGroupUpgrade[], upgradeKey: string): EarlierPull[] {
  const others = upgrades.filter(({ metadata, status }) => status?.precaching !== undefined && refKey(metadata) !== upgradeKey);
  const youngest = others.toSorted((one, other) => createdAt(other.metadata).localeCompare(createdAt(one.metadata))).slice(0, MOST_EARLIER);
  return youngest.flatMap(({ metadata, status }) => {
    const { spec, status: states = {} } = status?.precaching ?? {};
    return spec ? [{ by: refKey(metadata), spec, clusters: new Set(Object.keys(states)) }] : [];
  });
}

const createdAt = ({ creationTimestamp }: ObjectMeta): string => creationTimestamp ?? '';

function progressOfWork({ metadata, status }: ManifestWork) {
  const job = status?.resourceStatus?.manifests?.find(
    ({ resourceMeta }) => resourceMeta.kind === 'Job' && resourceMeta.name === SpokeName.job,
  );
  return { metadata, text: job?.statusFeedback?.values?.find(({ name }) => name === 'progress')?.fieldValue.string };
}

function progressOfView({ metadata, status }: ManagedClusterView) {
  const job = status?.result;
  const annotations = isJsonObject(job) && isJsonObject(job.metadata) ? job.metadata.annotations : undefined;
  const text = isJsonObject(annotations) ? annotations[Annotation.progress] : undefined;
  return { metadata, text: typeof text === 'string' ? text : undefined };
}

/** A puller of another version may have written anything. */
const parseReport = (text: string | undefined): PullerReport | undefined =>
  text === undefined || text.length > MOST_TEXT ? undefined : PullerReport.safeParse(readJson(text)).data;
