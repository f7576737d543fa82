import { Label } from '@flotilla/api';
import { ManagedClusterAction } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, type ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { BUILT_IN_KINDS } from '@flotilla/control-plane/simulators';
import { clustersAgain, type Ledger, verdictOf } from './ledger.ts';
import type { Property } from './property.ts';

/** What may happen to clusters, and when. */
export function effects(ledger: Ledger): Property[] {
  return [
    afterNo(ledger),
    batchesInOrder(ledger),
    strangers(ledger),
    restoredWaits(ledger),
    oneUpgradeAtATime(ledger),
    oneJob(ledger),
    untouched(),
  ];
}

const afterNo = (ledger: Ledger): Property => ({
  name: 'no effect after a no',
  rule: 'no cluster is begun for an upgrade that is withdrawn, paused or before its gate',
  look(changes) {
    for (const { upgrade, clusters } of ledger.enforcementsIn(changes)) {
      const stored = ledger.senderOf(upgrade);
      const wrong = afterAct(ledger, upgrade, clusters) ?? (stored && beforeGate(ledger, stored, clusters));
      if (wrong !== undefined) return `${upgrade} enforces ${wrong}`;
    }
    return undefined;
  },
});

/** Clusters that are begun though somebody said no; a cluster that was under way goes on, since half an upgrade is worse than a whole one. */
function afterAct(ledger: Ledger, upgrade: string, clusters: readonly string[]): string | undefined {
  const { since, why } = ledger.forbidden.get(upgrade) ?? {};
  if (since === undefined || ledger.now - since <= ledger.graceMs(since)) return undefined;
  const stored = ledger.upgrades.get(upgrade);
  const isUnderWay = (cluster: string): boolean => stored !== undefined && (ledger.underWaySince(stored, cluster) ?? ledger.now) <= since;
  const begun = clusters.filter((cluster) => !isUnderWay(cluster));
  return begun.length > 0 ? `${begun.join(', ')} though ${why} for ${Math.round((ledger.now - since) / 1_000)} s` : undefined;
}

/** Clusters that are begun before other upgrades, or their pulls, let them. */
function beforeGate(ledger: Ledger, { spec, status }: ClusterGroupUpgrade, clusters: readonly string[]): string | undefined {
  const startedAt = status?.status.startedAt ?? '';
  const open = (spec?.blockingCRs ?? []).filter(({ name = '' }) => {
    const blocking = ledger.upgrades.get(name);
    // An upgrade that has begun goes on when what it waited for is lost and restored.
    const isOlder = blocking && (startedAt === '' || startedAt >= (blocking.metadata.creationTimestamp ?? ''));
    return isOlder && verdictOf(blocking)?.status !== 'True';
  });
  if (open.length > 0) return `${clusters.join(', ')} before ${open.map(({ name }) => name).join(', ')} is through`;
  const pulls = spec?.preCaching ? clusters.filter((cluster) => status?.precaching?.status?.[cluster] !== 'Succeeded') : [];
  return pulls.length > 0 ? `${pulls.join(', ')} before the images are there` : undefined;
}

const batchesInOrder = (ledger: Ledger): Property => {
  /** When the end of a cluster's part was stored, by uid of the upgrade and name. */
  const endedAt = new Map<string, number>();
  return {
    name: 'batches in order',
    rule: 'no cluster of a batch is enforced before all clusters of the batches before it have ended their part',
    look(changes) {
      for (const { after } of ledger.upgradesIn(changes))
        for (const { name } of after.status?.clusters ?? []) {
          const key = `${after.metadata.uid} ${name}`;
          if (!endedAt.has(key)) endedAt.set(key, ledger.now);
        }
      for (const { upgrade, clusters } of ledger.enforcementsIn(changes)) {
        const { metadata, status } = ledger.senderOf(upgrade) ?? {};
        // Writes that were sent before the end was known arrive after it.
        const hasJustEnded = (cluster: string): boolean => {
          const since = endedAt.get(`${metadata?.uid} ${cluster}`);
          return since !== undefined && ledger.now - since <= ledger.graceMs(since);
        };
        const wrong = status && clusters.map((cluster) => outOfOrder(status, cluster, hasJustEnded)).find((each) => each !== undefined);
        if (wrong !== undefined) return `${upgrade} enforces ${wrong}`;
      }
      return undefined;
    },
  };
};

/** The cluster with what speaks against it; undefined where nothing does. */
function outOfOrder(status: ClusterGroupUpgradeStatus, cluster: string, hasJustEnded: (cluster: string) => boolean): string | undefined {
  const { remediationPlan: plan = [], clusters = [] } = status;
  const again = clustersAgain(status);
  const ended = new Set([...clusters.map(({ name }) => name), ...again]);
  // One that complied from the beginning is in no batch, and comes again behind all of them.
  const isBehind = again.includes(cluster) && !plan.flat().includes(cluster);
  const batch = isBehind ? plan.length : plan.findLastIndex((names) => names.includes(cluster));
  if (batch < 0) return `${cluster}, which is in no batch of ${JSON.stringify(plan)}`;
  // Whoever is tried again is in a later batch too.
  const later = new Set(plan.slice(batch).flat());
  const open = plan
    .slice(0, batch)
    .flat()
    .filter((name) => !ended.has(name) && !later.has(name));
  if (open.length > 0) return `${cluster} of batch ${batch + 1} before ${open.join(', ')} ended`;
  return ended.has(cluster) && !again.includes(cluster) && !hasJustEnded(cluster) ? `${cluster}, whose part has ended` : undefined;
}

const strangers = (ledger: Ledger): Property => ({
  name: 'strangers are left alone',
  rule: 'no policy is enforced on a cluster that carries the label of another, before its own part',
  look() {
    for (const { policy, cluster } of ledger.enforced) {
      const since = ledger.mislabelledSince.get(cluster);
      const upgrade = [...ledger.upgrades.values()].find(({ metadata }) => policy.startsWith(`policies/${metadata.name}-`));
      const isItsPart = upgrade !== undefined && ledger.underWaySince(upgrade, cluster) !== undefined;
      // A label that changes under a binding takes effect before anybody can know.
      if (!isItsPart && since !== undefined && ledger.now - since > ledger.graceMs(since))
        return `${policy} is enforced on ${cluster}, which carries another's label`;
    }
    return undefined;
  },
});

/** Time for which a restored upgrade waits for its status, in milliseconds; a clock ahead ends it early. */
const RESTORE_MS = 29 * 60_000;

const restoredWaits = (ledger: Ledger): Property => ({
  name: 'a restored upgrade waits',
  rule: 'an upgrade that was under way and is restored begins nobody before its status is back, or half an hour is over',
  look(changes) {
    for (const { upgrade, clusters } of ledger.enforcementsIn(changes)) {
      const since = ledger.lacksStatusSince(upgrade);
      const { status } = ledger.senderOf(upgrade) ?? {};
      // Writes that were sent before it was lost are for those that were under way then.
      const isLate = clusters.every((cluster) => status?.status.currentBatchRemediationProgress?.[cluster] !== undefined);
      if (since !== undefined && !isLate && ledger.now - since < RESTORE_MS - ledger.skewMs)
        return `${upgrade} enforces ${clusters.join(', ')} after it was restored, without what it had done`;
    }
    return undefined;
  },
});

const oneUpgradeAtATime = (ledger: Ledger): Property => {
  const counts = new Map<string, number>();
  return {
    name: 'one job at a time',
    rule: 'a spoke runs one job of a kind at a time',
    look() {
      const { spokes, names } = ledger.world;
      for (const cluster of names) {
        const events = spokes.events(cluster);
        if (events.length === counts.get(cluster)) continue;
        counts.set(cluster, events.length);
        const ended = new Set(events.flatMap(({ type, uid = '' }) => (/^job-(succeeded|failed|deadline)$/.test(type) ? [uid] : [])));
        const job = BUILT_IN_KINDS.find(({ kind }) => kind === 'Job');
        const running = (job ? spokes.store(cluster).list(job) : []).filter(({ metadata }) => !ended.has(metadata.uid));
        const jobNames = running.map(({ metadata }) => metadata.name);
        if (new Set(jobNames).size < jobNames.length) return `${cluster} runs ${jobNames.join(' and ')} at once`;
      }
      return undefined;
    },
  };
};

/** Acts after which a spoke may have to pull once more. */
const PULLS_AGAIN: readonly string[] = [
  'retry',
  'fail jobs',
  'delete job',
  'lose images',
  'stop',
  'leave',
  'join',
  'hold',
  'unlabel',
  'cut',
  'delete',
  'restart agent',
  'restore',
  'restore bare',
  'mislabel',
  'break server',
];

const oneJob = ({ world }: Ledger): Property => {
  const { names, story } = world;
  const mayPullAgain = story.storms.length > 0 || story.acts.some(({ what }) => PULLS_AGAIN.includes(what));
  return {
    name: 'one job',
    rule: 'a spoke pulls once for an upgrade where nobody asks for it again and nothing failed',
    look() {
      if (mayPullAgain) return undefined;
      for (const [index, cluster] of names.entries()) {
        const created = world.spokes.jobsCreated(cluster);
        if (created.length < 2) continue;
        const wanted = story.upgrades.filter(({ clusters, preCaching }) => preCaching && clusters.includes(index + 1)).length;
        const jobs = created.filter(({ name }) => name === 'pre-cache');
        if (jobs.length > wanted) return `${cluster} gets ${jobs.length} pulls, and ${wanted} were asked for`;
      }
      return undefined;
    },
  };
};

/** Deletions on spokes by actions. A job whose objects are gone is known by its status alone. */
const untouched = (): Property => {
  /** Jobs that were begun, as `work/upgrade uid/cluster`. */
  const begun = new Set<string>();
  return {
    name: 'the untouched is not cleaned',
    rule: 'nothing of a job is deleted from a spoke on which its upgrade has begun none',
    look(changes) {
      for (const { kind, change } of changes) {
        if (change.type === 'DELETED') continue;
        if (kind.kind === ClusterGroupUpgrade.kind) noteBegun(begun, change.after.object as unknown as ClusterGroupUpgrade);
        const { metadata, spec } = change.after.object as unknown as ManagedClusterAction;
        const id = `${metadata.labels?.[Label.work]}/${metadata.labels?.[Label.upgradeUid]}/${metadata.namespace}`;
        if (kind.kind !== ManagedClusterAction.kind || spec?.actionType !== 'Delete' || !/^(precache|backup)\//.test(id)) continue;
        if (!begun.has(id)) return `${metadata.name} is asked of ${metadata.namespace}, where nothing was begun`;
      }
      return undefined;
    },
  };
};

function noteBegun(begun: Set<string>, { metadata: { uid }, status }: ClusterGroupUpgrade): void {
  for (const [cluster, state] of Object.entries(status?.precaching?.status ?? {}))
    if (state !== 'NotStarted') begun.add(`precache/${uid}/${cluster}`);
  for (const cluster of Object.keys(status?.backup?.status ?? {})) begun.add(`backup/${uid}/${cluster}`);
}
