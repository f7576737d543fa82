import type { KubeObject, Resource } from '@flotilla/api';
import { Label } from '@flotilla/api';
import { ManagedClusterAction, ManagedClusterView, ManifestWork, Placement, PlacementBinding } from '@flotilla/api/ocm';
import { type Ledger, verdictOf } from './ledger.ts';
import type { Property } from './property.ts';

/** The end of everything. */
export function ends(ledger: Ledger): Property[] {
  return [everyUpgradeEnds(ledger), nothingIsLeft(ledger), atRest(ledger)];
}

/** Reasons of an upgrade that goes on only when somebody does something. */
const FOR_SOMEBODY = [
  'IncompleteBlockingCR',
  'PrecacheFailed',
  'PrecachingFailed',
  'BackupFailed',
  'WaitingForMembers',
  'MissingBlockingCR',
];

const everyUpgradeEnds = (ledger: Ledger): Property => {
  const open = () =>
    [...ledger.upgrades].filter(([, upgrade]) => verdictOf(upgrade) === undefined || upgrade.status?.status.completedAt === undefined);
  return {
    name: 'every upgrade ends',
    rule: 'once nothing goes wrong any more every upgrade ends, or waits for somebody and says for whom',
    look: () => undefined,
    isOver: () => open().length === 0,
    end() {
      for (const [name, upgrade] of open()) {
        const conditions = upgrade.status?.conditions ?? [];
        if (conditions.some(({ status, reason }) => status === 'False' && FOR_SOMEBODY.includes(reason))) continue;
        const said = conditions.map(({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`);
        return `${name} does not end; ${said.join('; ') || 'it has no condition'}; ${JSON.stringify(upgrade.status?.messages)}`;
      }
      return undefined;
    },
  };
};

const LEFT: readonly Resource[] = [ManagedClusterAction, ManagedClusterView, ManifestWork, Placement, PlacementBinding];

const nothingIsLeft = (ledger: Ledger): Property => ({
  name: 'nothing is left',
  rule: 'after their ends nothing of upgrades is left on hub and spokes that nobody wants',
  look: () => undefined,
  tidy() {
    const { server } = ledger.world;
    const running = new Set([...ledger.upgrades].filter(([, upgrade]) => !verdictOf(upgrade)).map(([name]) => name));
    for (const kind of LEFT)
      for (const { metadata } of server.readAll<KubeObject>(kind)) {
        const upgrade = metadata.labels?.[Label.upgradeName];
        const isKept = metadata.annotations?.['flotilla.io/frozen'] !== undefined;
        if (upgrade !== undefined && !running.has(upgrade) && !isKept)
          return `${kind.kind} ${metadata.namespace}/${metadata.name} of ${upgrade} is left`;
      }
    return undefined;
  },
});

const atRest = ({ world }: Ledger): Property => {
  let written: number | undefined;
  let askedBefore = 0;
  return {
    name: 'at rest',
    rule: 'nothing is written or asked while nothing is to be done',
    look(changes) {
      if (written !== undefined) written += changes.filter(({ kind }) => kind.plural !== 'leases').length;
      return undefined;
    },
    rests() {
      written = 0;
      askedBefore = world.asked.length;
    },
    rest() {
      if (written) return `${written} changes in a time of rest`;
      const asked = world.asked.slice(askedBefore);
      return asked.length > 0 ? `${asked.length} questions in a time of rest: ${asked.slice(0, 3).join(', ')}` : undefined;
    },
  };
};
