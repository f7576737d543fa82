import { checkOptions } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { JoinOptions } from './options.ts';

const readOptions = (given: unknown) => checkOptions(JoinOptions, given);

const given = { hubKubeconfig: 'hub.yaml', spokeKubeconfig: 'spoke.yaml', name: 'spoke-1', image: 'registry.test/agent' };
const digest = `sha256:${'a'.repeat(64)}`;

test.each([
  { image: 'registry.test/agent', want: { repository: 'registry.test/agent', tag: undefined, digest: undefined } },
  { image: 'registry.test:5000/agent', want: { repository: 'registry.test:5000/agent', tag: undefined, digest: undefined } },
  { image: `registry.test:5000/agent:v2@${digest}`, want: { repository: 'registry.test:5000/agent', tag: 'v2', digest } },
])('$image is taken apart for the chart', ({ image, want }) => expect(readOptions({ ...given, image }).image).toEqual(want));

test('a label may have an empty value', () => {
  expect(readOptions({ ...given, label: ['a=b', 'c='] }).label).toEqual({ a: 'b', c: '' });
});

test('the spoke needs no kubeconfig when its objects are printed', () => {
  expect(readOptions({ hubKubeconfig: 'hub.yaml', name: 'spoke-1', values: 'agent.yaml', print: true })).toMatchObject({
    namespace: 'flotilla',
    tokenDays: 30,
  });
});

test('every wrong option is named with its fix', () => {
  const wrong = { hubKubeconfig: 'hub.yaml', name: 'a.b', label: ['x'], hubServer: 'http://hub', tokenDays: '0', image: 'agent@sha256:1' };
  for (const part of [
    '--name is "a.b": must be at most 63',
    '--label is ["x"]: must be key=value',
    '--hub-server is "http://hub": must be an https URL',
    '--token-days is "0": must be at least an hour',
    '--image is "agent@sha256:1": must be repository[:tag]',
  ])
    expect(() => readOptions(wrong)).toThrow(part);
  expect(() => readOptions({ ...given, spokeKubeconfig: undefined })).toThrow('--spoke-kubeconfig: is required');
  expect(() => readOptions({ ...given, image: undefined })).toThrow('--image: is required: image of the agent, as in --image registry.');
});

test('without any option each that is needed is named, with an example', () => {
  for (const part of [
    '--hub-kubeconfig: is required: path of a kubeconfig',
    '--name: is required: name of the spoke, as in --name spoke-1',
  ])
    expect(() => readOptions({})).toThrow(part);
});
