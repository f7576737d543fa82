import { untyped } from '@flotilla/api';
import { ClusterOperator, ClusterVersion } from '@flotilla/api/config';
import { Node } from '@flotilla/api/core';
import { MachineConfigAnnotation, MachineLabel } from '@flotilla/api/machine';
import { UpgradeConfig } from '@flotilla/api/managed';
import { kstatus } from '@flotilla/api/testing';
import { renderedConfig } from '@flotilla/control-plane/simulators';
import { PLAYED_OPERATORS } from '@flotilla/version-operator/testing';
import { type OperatedSpoke, VERSIONS } from '../core/operated-spoke.ts';
import type { StoredChange } from '../core/world.ts';
import type { Ledger } from './ledger.ts';
import type { Property } from './property.ts';

const Deployments = untyped('apps/v1', 'Deployment', 'deployments');

/** Rules of what the operators of a spoke may do, and say of it. */
export function operators(ledger: Ledger): Property[] {
  const { operated } = ledger.world;
  if (!operated) return [];
  const asks = new Asks(ledger, operated);
  return [
    asks.noted,
    oneVersion(operated, asks),
    notUnasked(ledger, operated, asks),
    appliedWasSeen(operated),
    doneWasSeen(operated),
    readings(),
    operatorsEnd(operated, asks),
  ];
}

/** An object of a kind before and after a change; after it is undefined once it is gone. */
function changesOf<T>(
  changes: readonly StoredChange[],
  plural: string,
): { readonly before: T | undefined; readonly after: T | undefined }[] {
  return changes.flatMap(({ kind, change: { type, before, after }, spoke }) =>
    spoke !== undefined && kind.plural === plural
      ? [{ before: before?.object as T | undefined, after: type === 'DELETED' ? undefined : (after.object as T) }]
      : [],
  );
}

/** Versions that were asked of a spoke, and since when the last is asked no more. */
class Asks {
  readonly #ledger: Ledger;
  readonly #spoke: OperatedSpoke;
  /** Versions that were asked for at some time. */
  readonly versions = new Set<string>();
  /** The UpgradeConfig as it is. */
  now: UpgradeConfig | undefined;
  /** Since when it is as it is, but for its status; milliseconds since the epoch. */
  since = 0;

  constructor(ledger: Ledger, spoke: OperatedSpoke) {
    this.#ledger = ledger;
    this.#spoke = spoke;
  }

  /** The version that is asked for now. */
  get version(): string {
    return versionOf(this.#spoke, this.now?.spec.desired);
  }

  /** Sees a change before any property is asked about it. */
  readonly noted: Property = {
    name: 'asks',
    rule: '',
    look: (changes) => {
      for (const { before, after } of changesOf<UpgradeConfig>(changes, UpgradeConfig.plural)) {
        this.now = after;
        this.versions.add(this.version);
        if (before?.metadata.generation !== after?.metadata.generation || before?.metadata.uid !== after?.metadata.uid)
          this.since = this.#ledger.now;
      }
      return undefined;
    },
  };
}

/** Version that a cluster, or an upgrade, is to have: of its image where it says one, whatever version an operator writes beside; an unknown image is none that was asked for. */
const versionOf = (
  { services }: OperatedSpoke,
  wanted: { readonly version?: string | undefined; readonly image?: string | undefined } | null | undefined,
): string => (wanted?.image ? (services.images[wanted.image] ?? wanted.image) : (wanted?.version ?? ''));

const isLater = (version: string, than: string): boolean => version.localeCompare(than, 'en', { numeric: true }) > 0;

/** Versions to which the cluster is sent by these changes, each with its ClusterVersion before. */
const sentIn = (spoke: OperatedSpoke, changes: readonly StoredChange[]) =>
  changesOf<ClusterVersion>(changes, ClusterVersion.plural).flatMap(({ before, after }) => {
    const version = versionOf(spoke, after?.spec.desiredUpdate);
    return version !== '' && before && versionOf(spoke, before.spec.desiredUpdate) !== version ? [{ version, before }] : [];
  });

const oneVersion = (spoke: OperatedSpoke, asks: Asks): Property => {
  /** The UpgradeConfig by which it was sent last: where that is deleted, another one may ask for a later version. */
  let sender: string | undefined;
  return {
    name: 'one version at a time',
    rule: 'a spoke goes to one version at a time, and to none that nobody asked for',
    look(changes) {
      for (const { version, before } of sentIn(spoke, changes)) {
        const { versions, now } = asks;
        const [newest] = before.status?.history ?? [];
        const isAnother = now !== undefined && now.metadata.uid !== sender && isLater(version, newest?.version ?? '');
        sender = now?.metadata.uid;
        if (!versions.has(version)) return `it is sent to ${version}, and asked for was ${[...versions].join(', ')}`;
        if (newest?.state === 'Partial' && !isAnother) return `it is sent to ${version} while ${newest.version} is being applied`;
      }
      for (const { after } of changesOf<ClusterVersion>(changes, ClusterVersion.plural)) {
        const open = (after?.status?.history ?? []).filter(({ completionTime }) => !completionTime);
        if (open.length > 1) return `${open.map(({ version }) => version).join(' and ')} are being applied at once`;
      }
      return undefined;
    },
  };
};

const notUnasked = (ledger: Ledger, spoke: OperatedSpoke, asks: Asks): Property => ({
  name: 'no version without leave',
  rule: 'no version is begun before its time, after it was taken back, or while the cluster is not fit',
  look(changes) {
    const { refusals, skewMs } = spoke;
    for (const { version } of sentIn(spoke, changes)) {
      const { now: asked, since } = asks;
      const isLong = (begun: number) => ledger.now - begun > ledger.graceMs(begun);
      if (asks.version !== version && isLong(since))
        return `${version} is begun though ${asked ? `${asks.version} is asked for` : 'nothing is asked for'}`;
      if (asked && ledger.now + skewMs() + 1_000 < Date.parse(asked.spec.upgradeAt))
        return `${version} is begun before ${asked.spec.upgradeAt}`;
      if (refusals.since !== undefined && isLong(refusals.since)) return `${version} is begun though the cluster is not fit`;
    }
    return undefined;
  },
});

const appliedWasSeen = ({ server, part }: OperatedSpoke): Property => ({
  name: 'applied was seen',
  rule: 'a version is called applied when everything of its release is, and every operator says so',
  look(changes) {
    if (part.operators !== 'both') return undefined;
    for (const { before, after } of changesOf<ClusterVersion>(changes, ClusterVersion.plural)) {
      const [newest] = after?.status?.history ?? [];
      const known = before?.status?.history?.[0];
      if (!known || newest?.state !== 'Completed' || known.completionTime === newest.completionTime) continue;
      const { version } = newest;
      for (const name of PLAYED_OPERATORS) {
        const deployment = server.read(Deployments, { namespace: `openshift-${name}`, name });
        if (!JSON.stringify(deployment ?? {}).includes(`"${name}:${version}"`))
          return `${version} is called applied, and ${name} does not run it`;
        const versions = server.read(ClusterOperator, { name })?.status?.versions ?? [];
        if (!versions.some((each) => each.version === version)) return `${version} is called applied, and ${name} has not said so`;
      }
    }
    return undefined;
  },
});

const doneWasSeen = ({ server }: OperatedSpoke): Property => ({
  name: 'done was seen',
  rule: 'an upgrade of a spoke is done when its version is applied and every worker has it',
  look(changes) {
    for (const { before, after } of changesOf<UpgradeConfig>(changes, UpgradeConfig.plural)) {
      const [entry] = after?.status?.history ?? [];
      const known = before?.status?.history?.find(({ version }) => version === entry?.version);
      if (entry?.phase !== 'Upgraded' || known?.phase === 'Upgraded') continue;
      const { version = '' } = entry;
      const applied = server.read(ClusterVersion, { name: 'version' })?.status?.history?.find((each) => each.version === version);
      if (applied?.state !== 'Completed') return `${version} is called done, and is ${applied?.state ?? 'not there'}`;
      const behind = server
        .readAll(Node)
        .filter(({ metadata: { labels = {} } }) => MachineLabel.worker in labels)
        .find(({ metadata }) => metadata.annotations?.[MachineConfigAnnotation.current] !== renderedConfig('worker', version));
      if (behind) return `${version} is called done, and ${behind.metadata.name} has not got it`;
    }
    return undefined;
  },
});

const readings = (): Property => ({
  name: 'generic tools on the spoke',
  rule: 'tools that know nothing of upgrades never read Current of an UpgradeConfig before the end of what it asks for',
  look(changes) {
    for (const { after } of changesOf<UpgradeConfig>(changes, UpgradeConfig.plural)) {
      if (!after?.status || after.metadata.deletionTimestamp) continue;
      const entry = after.status.history?.find(({ version }) => version === after.spec.desired.version);
      const reads = kstatus(after);
      if (reads === 'Current' && entry?.phase !== 'Upgraded') return `it reads Current, and the upgrade is ${entry?.phase ?? 'not there'}`;
      const isSeen = after.status.observedGeneration === after.metadata.generation;
      if (isSeen && entry?.phase === 'Upgraded' && reads === 'InProgress') return 'it reads InProgress after its end';
    }
    return undefined;
  },
});

const operatorsEnd = (spoke: OperatedSpoke, asks: Asks): Property => {
  /** The version that is asked for is behind what the cluster has by now, and is refused for good. */
  const isPassed = (): boolean => {
    const [newest] = spoke.server.read(ClusterVersion, { name: 'version' })?.status?.history ?? [];
    return asks.version === VERSIONS.asked && newest?.version === VERSIONS.other && newest.state === 'Completed';
  };
  const open = () => {
    const { now: asked } = asks;
    const entry = asked?.status?.history?.find(({ version }) => version === asked.spec.desired.version);
    if (entry?.phase === 'Pending' && isPassed()) return undefined;
    return asked && entry?.phase !== 'Upgraded' && entry?.phase !== 'Failed' ? { asked, entry } : undefined;
  };
  return {
    name: 'every version ends',
    rule: 'once nothing goes wrong any more what is asked of a spoke is done, or was given up',
    look: () => undefined,
    isOver: () => open() === undefined,
    end() {
      const { asked, entry } = open() ?? {};
      return asked && `${asked.spec.desired.version} is ${entry?.phase}; ${JSON.stringify(entry?.conditions?.slice(0, 3))}`;
    },
  };
};
