import { conditionTime } from '@flotilla/api';
import { OPERATOR_NAMESPACE, UPGRADE_CONFIG_NAME, UpgradeConfig } from '@flotilla/api/managed';
import { playedImage } from '@flotilla/version-operator/testing';
import { createTemplate } from '../../fixtures/work-templates.ts';
import { CHANNEL, type OperatedSpoke, VERSIONS } from './operated-spoke.ts';
import { type OperatorAct, skewOf } from './story.ts';
import type { World } from './world.ts';

/** The UpgradeConfig of the spoke. */
const ASKED = { namespace: OPERATOR_NAMESPACE, name: UPGRADE_CONFIG_NAME };

/** Values of a work that say that an operated spoke is where it was sent. */
const EXPECTED = [
  { manifestIndex: 0, name: 'Phase', value: 'Upgraded' },
  { manifestIndex: 0, name: 'Version', value: VERSIONS.asked },
] as const;

/** Values by which a work of a template is done, where it asks for a version. */
export const expectedOf = ({ operated }: World, template: string) =>
  operated && template === `${operated.part.upgrade}-t1` ? EXPECTED : undefined;

/** Creates the template that asks clusters for a version. */
export async function createAskingTemplate(world: World, name: string, { part }: OperatedSpoke): Promise<void> {
  const { kind, apiVersion } = UpgradeConfig;
  const upgradeAt = conditionTime(world.scheduler.now() + part.notBefore);
  const desired = part.operators === 'both' ? { image: playedImage(VERSIONS.asked) } : { version: VERSIONS.asked, channel: CHANNEL };
  const asked = { apiVersion, kind, metadata: ASKED, spec: { type: 'OSD', upgradeAt, PDBForceDrainTimeout: 60, desired } };
  const resourceIdentifier = { group: 'upgrade.managed.openshift.io', resource: 'upgradeconfigs', ...ASKED };
  const jsonPaths = EXPECTED.map((value) => ({ name: value.name, path: `.status.history[0].${value.name.toLowerCase()}` }));
  await createTemplate(world.user, name, {
    expected: JSON.stringify(EXPECTED),
    spec: {
      ...(part.isKept && { deleteOption: { propagationPolicy: 'Orphan' } }),
      workload: { manifests: [asked] },
      manifestConfigs: [
        {
          resourceIdentifier,
          updateStrategy: { type: 'ServerSideApply', serverSideApply: { force: true } },
          feedbackRules: [{ type: 'JSONPaths', jsonPaths }],
        },
      ],
    },
  });
}

/** Does what an act says to the operated spoke. */
export async function performOnOperator(world: World, spoke: OperatedSpoke, { what, operator, ms }: OperatorAct): Promise<void> {
  await onOperator[what](world, spoke, { operator, ms });
}

type With = Pick<OperatorAct, 'operator' | 'ms'>;

const onOperator: Record<OperatorAct['what'], (world: World, spoke: OperatedSpoke, act: With) => unknown> = {
  'kill operator'({ scheduler }, spoke, { operator, ms }) {
    if (!spoke.process(operator)) return;
    spoke.kill(operator);
    scheduler.setTimer(ms, () => spoke.startOperator(operator));
  },
  'sleep operator': (_, spoke, { operator, ms }) => spoke.process(operator)?.sleep(ms),
  'skew operator'(_, spoke, { operator, ms }) {
    const process = spoke.process(operator);
    if (process) process.skewMs = skewOf(ms);
  },
  'end spoke watches': (_, { server }) => {
    server.compact();
    server.endWatches();
  },
  'lose services'(_, { services }) {
    const outage = new Error('connect ECONNREFUSED');
    Object.assign(services, { before: outage, after: outage, notifier: outage, provider: () => Promise.reject(outage) });
    services.alertmanager.outage = outage;
  },
  'say no'({ scheduler }, spoke) {
    const no = { blocks: true, message: 'a critical alert fires' };
    Object.assign(spoke.services, { before: no, after: no });
    spoke.refusals.since ??= scheduler.now();
  },
  'free services': (_, spoke) => freeServices(spoke),
  'hold version': (_, spoke) => spoke.hold({ version: true }),
  'hold nodes': (_, spoke) => spoke.hold({ nodes: true }),
  'free cluster': (_, spoke) => spoke.hold({}),
  'take back': (_, { admin }) => admin.delete(UpgradeConfig, ASKED),
  'ask for another': (_, { admin, part }) => {
    const { other: version } = VERSIONS;
    const desired = part.operators === 'both' ? { version, image: playedImage(version) } : { version };
    return admin.patch(UpgradeConfig, ASKED, { spec: { desired } }, { type: 'merge' });
  },
};

function freeServices(spoke: OperatedSpoke): void {
  const fine = { blocks: false };
  Object.assign(spoke.services, { before: fine, after: fine, notifier: undefined, provider: async () => false });
  spoke.services.alertmanager.outage = undefined;
  spoke.refusals.since = undefined;
}

/** Takes away whatever keeps the spoke from where it was sent. */
export function healOperated(spoke: OperatedSpoke): void {
  freeServices(spoke);
  spoke.hold({});
}
