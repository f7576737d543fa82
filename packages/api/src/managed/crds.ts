import { type CrdManifest, crd, UNSEEN } from '../crd.ts';
import { toStructural } from '../structural.ts';
import { UpgradeConfig, UpgradeConfigSpec, UpgradeConfigStatus } from './upgrade-config.ts';

const column = (name: string, jsonPath: string) => ({ name, type: 'string', jsonPath });
const latest = '.status.history[0]';
const newestStep = `${latest}.conditions[0]`;

/** CRD of UpgradeConfig (spec/muo 1.1, 1.2). Its columns rely on both lists being newest first. */
export function managedCrds(): CrdManifest[] {
  return [
    crd(UpgradeConfig, {
      description: 'A managed upgrade of this cluster: what to, when, and how far it is.',
      spec: toStructural(UpgradeConfigSpec),
      status: { ...toStructural(UpgradeConfigStatus), default: UNSEEN },
      shortNames: ['upgrade'],
      columns: [
        column('desired_version', '.spec.desired.version'),
        column('phase', `${latest}.phase`),
        column('stage', `${newestStep}.type`),
        column('status', `${newestStep}.status`),
        column('reason', `${newestStep}.reason`),
        column('message', `${newestStep}.message`),
      ],
    }),
  ];
}
