import { reasons } from '@flotilla/api/ran';
import { code, page, table } from './markdown.ts';
import {
  acceptanceReasons,
  failingReasons,
  otherReasons,
  preconditionReasons,
  riskReasons,
  updateReasons,
} from './reasons/cluster-version.ts';
import { agentReasons, placementReasons, programEventReasons, registrationReasons, upgradeEventReasons } from './reasons/hub.ts';
import type { ReasonRow, ReasonRows } from './reasons/row.ts';
import { selfReasons, stepReasons, upgradeConditionReasons, upgradeEvents } from './reasons/upgrade-config.ts';

/** Reasons of a ClusterGroupUpgrade and its clusters, from the table that the hub itself uses. */
const upgradeReasons: ReasonRows = Object.fromEntries(
  Object.entries(reasons).map(([reason, row]): [string, ReasonRow] => [reason, 'fix' in row ? [row.meaning, row.fix] : [row.meaning]]),
);

/** All reasons, by the part of the page. */
export const reasonParts: Readonly<Record<string, ReasonRows>> = {
  'ClusterGroupUpgrade: conditions and messages': upgradeReasons,
  'ClusterGroupUpgrade: events': upgradeEventReasons,
  'Placements of an upgrade': placementReasons,
  ManagedCluster: registrationReasons,
  'Actions, views and works': agentReasons,
  'UpgradeConfig: conditions': upgradeConditionReasons,
  'UpgradeConfig: steps': stepReasons,
  'UpgradeConfig: events': upgradeEvents,
  'ClusterOperator of the upgrade operator': selfReasons,
  'ClusterVersion: ReleaseAccepted': acceptanceReasons,
  'ClusterVersion: preconditions': preconditionReasons,
  'ClusterVersion: Failing and Progressing': failingReasons,
  'ClusterVersion: RetrievedUpdates': updateReasons,
  'ClusterVersion: risks of updates': riskReasons,
  'ClusterVersion: other': otherReasons,
  'Every program: events': programEventReasons,
};

/** Links from a kind's page to the parts of `docs/reference/reasons.md` about it. */
export const reasonLinks = (kind: string): string[] =>
  Object.keys(reasonParts)
    .filter((title) => title === kind || title.startsWith(`${kind}: `))
    .map(
      (title) =>
        `[${title.replace(`${kind}: `, '')}](../reasons.md#${title
          .toLowerCase()
          .replaceAll(/[^\w -]/g, '')
          .replaceAll(' ', '-')})`,
    );

/** Every reason of the page has an anchor of its name. */
const anchored = (reason: string): string => (/^\w+$/.test(reason) ? `<a id="${reason.toLowerCase()}"></a>${code(reason)}` : code(reason));

/** `docs/reference/reasons.md`. */
export function reasonsPage(): string {
  const seen = new Set<string>();
  const parts = Object.entries(reasonParts).map(([title, rows]) => {
    const lines = Object.entries(rows).map(([reason, [meaning, fix = '']]) => {
      const name = seen.has(reason) ? code(reason) : anchored(reason);
      seen.add(reason);
      return [name, meaning, fix];
    });
    return `## ${title}\n\n${table(['reason', 'meaning', 'fix'], lines)}`;
  });
  return page(
    'Reasons of conditions and events',
    'Find the reason that `kubectl describe` shows. `{name}` stands for a value of the case. An empty fix: there is nothing to do.',
    ...parts,
  );
}
