import { Policy } from '@flotilla/api/ocm';
import { expect, test } from 'vitest';
import { carriedStatus, evaluatedObject, PolicyEvent, spokePolicy, templatesOf } from './carried-policy.ts';

const configuration = (name: string) => ({
  objectDefinition: {
    apiVersion: 'policy.open-cluster-management.io/v1',
    kind: 'ConfigurationPolicy',
    metadata: { name },
    spec: { remediationAction: 'inform', severity: 'low' },
  },
});

const policy = (templates: readonly unknown[], spec: Record<string, unknown> = {}) =>
  Policy.schema.parse({
    metadata: { name: 'policies.gateway', namespace: 'spoke-1', uid: 'uid-1', resourceVersion: '7', labels: { wave: '1' } },
    spec: { disabled: false, 'policy-templates': templates, ...spec },
  });

/** An event about a template, created at a moment in nanoseconds. */
const event = (template: string, nanos: string, message: string) =>
  PolicyEvent.schema.parse({
    metadata: { name: `policies.gateway.${nanos}`, namespace: 'spoke-1' },
    reason: `policy: spoke-1/${template}`,
    message,
    lastTimestamp: '2030-01-01T00:00:00Z',
    involvedObject: { kind: 'Policy', name: 'policies.gateway', uid: 'uid-1' },
  });

const compliance = (...events: readonly PolicyEvent[]) => carriedStatus(policy([configuration('a'), configuration('b')]), events).compliant;

test('the copy for the spoke has the contents and nothing of the hub', () => {
  const copy = spokePolicy(policy([configuration('a')]));
  expect(copy.metadata).toEqual({ name: 'policies.gateway', namespace: 'spoke-1', labels: { wave: '1' } });
  expect(copy.spec).toMatchObject({ disabled: false });
});

test('what is evaluated belongs to the policy, whose action wins', () => {
  const enforced = policy([configuration('a')], { remediationAction: 'enforce' });
  const [template = expect.fail('no template')] = templatesOf(enforced);
  const object = evaluatedObject(enforced, template);
  expect(object.spec).toEqual({ remediationAction: 'enforce', severity: 'low' });
  expect(object.metadata.ownerReferences).toMatchObject([{ kind: 'Policy', name: 'policies.gateway', uid: 'uid-1' }]);
  expect(object.metadata.namespace).toBe('spoke-1');
});

test('the template keeps its own action when the policy has none', () => {
  const own = policy([configuration('a')]);
  const [template = expect.fail('no template')] = templatesOf(own);
  expect(evaluatedObject(own, template).spec).toMatchObject({ remediationAction: 'inform' });
});

test.each([
  { name: 'nothing said: unknown', events: [], want: undefined },
  { name: 'one template silent: unknown', events: [event('a', '10', 'Compliant; notification')], want: undefined },
  { name: 'all comply', events: [event('a', '10', 'Compliant; x'), event('b', '11', 'compliant')], want: 'Compliant' },
  { name: 'one does not', events: [event('a', '10', 'Compliant; x'), event('b', '11', 'NonCompliant; violation')], want: 'NonCompliant' },
  {
    name: 'any other text is a violation',
    events: [event('a', '10', 'template-error'), event('b', '11', 'Pending')],
    want: 'NonCompliant',
  },
  { name: 'one waits', events: [event('a', '10', 'Compliant; x'), event('b', '11', 'Pending; dependencies')], want: 'Pending' },
  {
    name: 'the newest word counts, in whatever order they came',
    events: [event('a', '1b', 'Compliant'), event('a', '1a', 'NonCompliant'), event('b', '10', 'Compliant')],
    want: 'Compliant',
  },
  { name: 'words about other templates do not', events: [event('c', '10', 'NonCompliant')], want: undefined },
])('$name', ({ events, want }) => expect(compliance(...events)).toBe(want));

test('keeps the ten newest entries, newest first', () => {
  const events = Array.from({ length: 12 }, (_, index) => event('a', (100 + index).toString(16), `NonCompliant; ${index}`));
  const [detail] = carriedStatus(policy([configuration('a')]), events).details;
  expect(detail?.history?.map(({ message }) => message)).toEqual(Array.from({ length: 10 }, (_, index) => `NonCompliant; ${11 - index}`));
});
