import { ManagedClusterAction } from '@flotilla/api/ocm';
import { expect, test } from 'vitest';
import type { SpokeAccess } from './access.ts';
import { executeAction } from './execution.ts';

/** Fails when the test reaches the spoke. */
const untouched = (): never => {
  throw new Error('the spoke was asked');
};
const spoke: SpokeAccess = {
  findKind: untouched,
  findResource: untouched,
  get: untouched,
  create: untouched,
  mergePatch: untouched,
  delete: untouched,
};

test.each(['', 'create', 'Patch', 'constructor', 'toString', '__proto__', 'hasOwnProperty'])(
  'action type %j is none',
  async (actionType) => {
    const kube = { resource: 'namespace', name: 'n', template: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' } } };
    const action = ManagedClusterAction.schema.parse({ metadata: { name: 'a', namespace: 'spoke' }, spec: { actionType, kube } });
    const { condition } = await executeAction(action, spoke);
    expect(condition).toMatchObject({
      status: 'False',
      reason: 'ActionTypeInvalid',
      message: `failed to handle ${actionType} action with err: invalid action type`,
    });
  },
);
