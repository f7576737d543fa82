import { findCondition } from '@flotilla/api';
import type { ClusterOperator, ClusterVersion, ComponentOverride, ConfigCondition } from '@flotilla/api/config';
import { reasonOf } from '../update-graph/recommendation.ts';
import type { Verdict } from './conditions.ts';

/** A reason of the cluster's own not to update to another minor or major version. */
export interface UpgradeRisk {
  readonly name: string;
  readonly message: string;
  readonly url?: string;
}

/** Sources of the risks. */
export interface RiskSources {
  /** The Progressing condition as it is said now. */
  readonly progressing: Pick<ConfigCondition, 'status'> | undefined;
  readonly overrides: readonly ComponentOverride[];
  /** Objects whose deletion is asked for and not confirmed, as their kind and name are told. */
  readonly pendingDeletions: readonly string[];
  /** `data` of ConfigMap openshift-config-managed/admin-gates; undefined where there is none. */
  readonly adminGates?: Readonly<Record<string, string>> | undefined;
  /** `data` of ConfigMap openshift-config/admin-acks; undefined where there is none. */
  readonly adminAcks?: Readonly<Record<string, string>> | undefined;
  readonly version: string;
  readonly operators: readonly ClusterOperator[];
}

/** Reads the risks, in the order in which they are told. */
const readers: readonly ((sources: RiskSources) => readonly UpgradeRisk[])[] = [
  ({ progressing }) =>
    riskWhere(
      progressing?.status === 'True',
      'ClusterVersionUpdating',
      'An update is already in progress and the details are in the Progressing condition.',
    ),
  ({ overrides }) =>
    riskWhere(
      overrides.some(({ unmanaged }) => unmanaged),
      'ClusterVersionOverrides',
      OVERRIDES_MESSAGE,
    ),
  ({ pendingDeletions }) =>
    riskWhere(pendingDeletions.length > 0, 'ResourceDeletionInProgress', `${DELETIONS}${pendingDeletions.toSorted().join(',')}`),
  openGates,
  ({ operators }) =>
    operators
      .flatMap(({ metadata: { name }, status }) => {
        const condition = findCondition(status?.conditions, 'Upgradeable');
        return condition?.status === 'False' ? [{ name: `ClusterOperatorUpgradeable-${name}`, message: condition.message }] : [];
      })
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
];

const DELETIONS = 'Cluster minor or major version upgrades are not allowed while resource deletions are in progress; resources=';

/** Objects whose deletion was under way when a status was stored: until they are looked for they count as on their way. */
export function storedDeletions({ status }: ClusterVersion): readonly string[] {
  const [, said = ''] = findCondition(status?.conditions, 'Upgradeable')?.message.split(DELETIONS) ?? [];
  const [names = ''] = said.split('\n');
  return names === '' ? [] : names.split(',');
}

const riskWhere = (holds: boolean, name: string, message: string): UpgradeRisk[] => (holds ? [{ name, message }] : []);

/** Message about overrides, which prevent some updates. */
export const OVERRIDES_MESSAGE =
  'Disabling ownership via cluster version overrides prevents updates between minor or major versions. Please remove overrides before requesting a minor or major version update.';

/** A gate of the release `ack-4.20-…` that an admin has to acknowledge. */
const gateShape = /^ack-([4-5]\.[0-9]{1,})-[^-]/;

function openGates({ adminGates = {}, adminAcks = {}, version }: RiskSources): UpgradeRisk[] {
  const minor = version.split('.').slice(0, 2).join('.');
  return Object.entries(adminGates)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([key, value]) => {
      const name = `AdminAck-${key}`;
      const gate = gateShape.exec(key);
      if (!gate)
        return [{ name, message: `ConfigMap openshift-config-managed/admin-gates has key ${key}, which must match ${gateShape.source}.` }];
      if (gate[1] !== minor) return [];
      if (value === '')
        return [
          {
            name,
            message: `ConfigMap openshift-config-managed/admin-gates has no text for gate ${key}, which must say what is acknowledged.`,
          },
        ];
      if (adminAcks[key] === 'true') return [];
      const url = /https:\/\/[^\s]{1,2000}/.exec(value)?.[0];
      return [{ name, message: value, ...(url && { url }) }];
    });
}

/** Risks of an update to another minor or major version, source by source (spec/cvo 5.6). */
export const findUpgradeRisks = (sources: RiskSources): readonly UpgradeRisk[] => readers.flatMap((read) => read(sources));

/** Makes the Upgradeable condition from risks; undefined takes it away, because it is never True. */
export function upgradeableOf(risks: readonly UpgradeRisk[]): Verdict | undefined {
  const [risk, ...others] = risks;
  if (risk === undefined) return undefined;
  if (others.length === 0) {
    const reason = reasonOf(risk.name, 'RiskNameNotCompatibleWithReasonProperty');
    return { type: 'Upgradeable', status: 'False', reason, message: risk.message };
  }
  const list = risks.map(({ message }) => `\n* ${message}`).join('');
  const message = `Cluster should not be upgraded between minor or major versions for multiple reasons:${list}`;
  return { type: 'Upgradeable', status: 'False', reason: 'MultipleReasons', message };
}
