import { expect, test } from 'vitest';
import { isRefusal } from './port.ts';

const create = (text: string) => `failed to handle Create action with err: ${text}`;

test.each([
  { name: 'a right that is missing', text: 'namespaces is forbidden: User "agent" cannot create resource "namespaces" in API group ""' },
  { name: 'a quota', text: 'jobs.batch "pre-cache" is forbidden: exceeded quota: none, requested: count/jobs.batch=1' },
  {
    name: 'an admission policy',
    text: "jobs.batch \"pre-cache\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
  },
  { name: 'a webhook', text: 'admission webhook "validate.test" denied the request: no' },
  { name: 'an invalid object', text: 'Job.batch "pre-cache" is invalid: spec.template: Required value' },
])('$name is a verdict', ({ text }) => {
  expect([isRefusal(create(text)), isRefusal(text)]).toEqual([true, true]);
});

test.each([
  {
    name: 'refused connections',
    text: 'Post "https://10.0.0.1:6443/api/v1/namespaces": dial tcp 10.0.0.1:6443: connect: connection refused',
  },
  { name: 'refused connections, in the words of our own agent', text: 'connect ECONNREFUSED 10.0.0.1:6443' },
  { name: 'an answer that never comes', text: 'Post "https://10.0.0.1:6443/api/v1/namespaces": context deadline exceeded' },
  { name: 'an answer that never comes, in the words of our own agent', text: 'no answer within 30000 ms' },
  { name: 'an unavailable server', text: 'the server is currently unable to handle the request (post namespaces)' },
  { name: 'a busy server', text: 'the server has received too many requests and has asked us to try again later (post namespaces)' },
  { name: 'etcd', text: 'etcdserver: leader changed' },
  {
    name: 'a webhook that cannot be asked, whatever it would say',
    text: 'Internal error occurred: failed calling webhook "v.test": an answer like "pods is forbidden: no"',
  },
  {
    name: 'a namespace that is going',
    text: 'serviceaccounts "a" is forbidden: unable to create new content in namespace n because it is being terminated',
  },
  { name: 'a namespace whose creation is tried again', text: 'namespaces "openshift-talo-pre-cache" not found' },
  { name: 'a token that is being replaced', text: 'Unauthorized' },
  { name: 'nothing', text: '' },
])('$name may pass', ({ text }) => {
  expect(isRefusal(create(text))).toBe(false);
});
