/** A refusal by a real API server is quoted in its own words: object, field and reason stand in Failing and, once, in the log. */
import { createServer, type Server } from 'node:net';
import { KubeObject, untyped } from '@flotilla/api';
import { startApiServer } from '@flotilla/control-plane/servers';
import { type Clock, createLogger, systemClock } from '@flotilla/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { configMap, imageOf, type RunningOperator, type TestRelease, World } from '../testing/world-case.ts';

type Json = Readonly<Record<string, unknown>>;
const NS = 'refused';
const REFUSED_AFTER_MS = 90_000;

/** A refusal is told when it has stood for ten seconds: here time runs twenty times as fast. */
const HURRY = 20;
const hurried: Clock = {
  now: () => systemClock.now() * HURRY,
  setTimer: (ms, fn) => systemClock.setTimer(ms / HURRY, fn),
};

let world: World;
let silent: Server;
let silentPort: number;

const group = (apiVersion: string, kind: string, plural: string, namespaced = false) => untyped(apiVersion, kind, plural, namespaced);
const admission = 'admissionregistration.k8s.io/v1';
const policies = group(admission, 'ValidatingAdmissionPolicy', 'validatingadmissionpolicies');
const bindings = group(admission, 'ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings');
const webhooks = group(admission, 'ValidatingWebhookConfiguration', 'validatingwebhookconfigurations');
const namespaces = group('v1', 'Namespace', 'namespaces');
const configMaps = group('v1', 'ConfigMap', 'configmaps', true);
const quotas = group('v1', 'ResourceQuota', 'resourcequotas', true);
const definitions = group('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions');

/** Refuses what is labelled with the name of a rule, in these words. */
const rules = {
  policy: 'web is not allowed in the shop (see https://example.com/rules)',
  hostile: `\u001b[31mred\u0007 \u202e${'long '.repeat(600)}`,
};

async function createPolicy(name: string, message: string): Promise<void> {
  const selector = { matchLabels: { refuse: name } };
  const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] }];
  await world.client.create(
    policies,
    KubeObject.parse({
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: { resourceRules, objectSelector: selector },
        validations: [{ expression: 'false', message }],
      },
    }),
  );
  await world.client.create(bindings, KubeObject.parse({ metadata: { name }, spec: { policyName: name, validationActions: ['Deny'] } }));
}

async function createWebhook(name: string, url: string): Promise<void> {
  const webhook = {
    name: `${name}.example.com`,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: 'Fail',
    timeoutSeconds: 1,
    clientConfig: { url },
    objectSelector: { matchLabels: { refuse: name } },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }],
  };
  await world.client.create(webhooks, KubeObject.parse({ metadata: { name }, webhooks: [webhook] }));
}

/** A server takes a moment to begin with what it was told to refuse. */
async function inForce(name: string): Promise<void> {
  const asked = KubeObject.parse({ metadata: { name: 'probe', namespace: NS, labels: { refuse: name } } });
  await world.until(() =>
    world.client.create(configMaps, asked, { dryRun: true }).then(
      () => false,
      () => true,
    ),
  );
}

const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: { sails: { type: 'integer', maximum: 3 }, colour: { type: 'string', enum: ['white', 'red'] } },
      'x-kubernetes-validations': [{ rule: '!has(self.sails) || self.sails != 2', message: 'two sails are one too few' }],
    },
  },
};
const definition = (plural: string, kind: string, openAPIV3Schema: Json = schema): Json => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.test.flotilla.io` },
  spec: {
    group: 'test.flotilla.io',
    names: { kind, plural },
    scope: 'Namespaced',
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
  },
});

beforeAll(async () => {
  world = await World.start(await startApiServer());
  silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await new Promise((resolve) => silent.once('listening', resolve));
  const address = silent.address();
  silentPort = typeof address === 'object' && address !== null ? address.port : 0;
  for (const name of [NS, 'full', 'ending', 'strict']) {
    const labels = name === 'strict' ? { 'pod-security.kubernetes.io/enforce': 'restricted' } : {};
    await world.client.create(namespaces, KubeObject.parse({ metadata: { name, labels } }));
  }
  const hard = { configmaps: '0', services: '0' };
  await world.client.create(quotas, KubeObject.parse({ metadata: { name: 'nothing', namespace: 'full' }, spec: { hard } }));
  // no controller counts here
  await world.client.patch(
    quotas,
    { namespace: 'full', name: 'nothing' },
    { status: { hard, used: { configmaps: '0', services: '0' } } },
    { type: 'merge', subresource: 'status' },
  );
  await world.client.delete(namespaces, { name: 'ending' });
  for (const [name, message] of Object.entries(rules)) await createPolicy(name, message);
  await createWebhook('away', 'https://127.0.0.1:1/validate');
  await createWebhook('silent', `https://127.0.0.1:${silentPort}/validate`);
  for (const name of [...Object.keys(rules), 'away', 'silent']) await inForce(name);
  await world.client.create(definitions, KubeObject.parse(definition('boats', 'Boat')));
});
afterAll(async () => {
  silent?.close();
  await world?.[Symbol.asyncDispose]();
});

const labelled = (name: string) => configMap(name, { a: '1' }, { labels: { refuse: name } }, NS);
const object = (apiVersion: string, kind: string, name: string, more: Json = {}, namespace = NS): Json => ({
  apiVersion,
  kind,
  metadata: { name, ...(namespace !== '' && { namespace }) },
  ...more,
});
const boat = (name: string, spec: Json) => object('test.flotilla.io/v1', 'Boat', name, { spec });
const pod = { spec: { containers: [{ name: 'c', image: 'i' }] } };
const deployment = (app: string, more: Json = {}) =>
  object('apps/v1', 'Deployment', 'web', {
    spec: { selector: { matchLabels: { app } }, template: { metadata: { labels: { app } }, ...pod }, ...more },
  });
const statefulSet = (serviceName: string) =>
  object('apps/v1', 'StatefulSet', 'store', {
    spec: { serviceName, selector: { matchLabels: { app: 's' } }, template: { metadata: { labels: { app: 's' } }, ...pod } },
  });
const rolesOf = (name: string) =>
  object('rbac.authorization.k8s.io/v1', 'RoleBinding', 'roles', {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [],
  });

/** A manifest that the server refuses, and the words of the refusal. */
interface Case {
  readonly name: string;
  readonly before?: Json;
  readonly asked: Json;
  readonly reason: string;
  readonly says: RegExp;
}

const cases: readonly Case[] = [
  {
    name: 'an admission policy',
    asked: labelled('policy'),
    reason: 'UpdatePayloadResourceInvalid',
    says: /configmap "refused\/policy" .*ValidatingAdmissionPolicy 'policy' with binding 'policy' denied request: web is not allowed in the shop \(see https:\/\/example\.com\/rules\)$/,
  },
  {
    name: 'an admission policy with hostile words',
    asked: labelled('hostile'),
    reason: 'UpdatePayloadResourceInvalid',
    says: /denied request: \[31mred long (long )+long…$/,
  },
  {
    name: 'a webhook that is away',
    asked: labelled('away'),
    reason: 'UpdatePayloadClusterError',
    says: /failed calling webhook "away\.example\.com": .*connection refused$/,
  },
  {
    name: 'a webhook that does not answer in time',
    asked: labelled('silent'),
    reason: 'UpdatePayloadClusterError',
    says: /failed calling webhook "silent\.example\.com": .*(deadline exceeded|Client\.Timeout|timeout)/,
  },
  {
    name: 'a quota',
    asked: configMap('one', { a: '1' }, {}, 'full'),
    reason: 'UpdatePayloadResourceForbidden',
    says: /configmaps "one" is forbidden: exceeded quota: nothing, requested: configmaps=1, used: configmaps=0, limited: configmaps=0$/,
  },
  {
    name: 'the security of pods',
    asked: object('v1', 'Pod', 'p', { spec: { hostNetwork: true, ...pod.spec } }, 'strict'),
    reason: 'UpdatePayloadResourceForbidden',
    says: /pods "p" is forbidden: violates PodSecurity "restricted:latest": host namespaces \(hostNetwork=true\)/,
  },
  {
    name: 'an immutable selector',
    before: deployment('a'),
    asked: deployment('b'),
    reason: 'UpdatePayloadResourceInvalid',
    says: /Deployment\.apps "web" is invalid: spec\.selector: Invalid value: .*field is immutable$/,
  },
  {
    name: 'an immutable ConfigMap',
    before: configMap('fixed', { a: '1' }, {}, NS),
    asked: configMap('fixed', { a: '2' }, {}, NS),
    reason: 'UpdatePayloadResourceInvalid',
    says: /ConfigMap "fixed" is invalid: data: Forbidden: field is immutable when `immutable` is set$/,
  },
  {
    name: 'an immutable role of a binding',
    before: rolesOf('view'),
    asked: rolesOf('edit'),
    reason: 'UpdatePayloadResourceInvalid',
    says: /RoleBinding\.rbac\.authorization\.k8s\.io "roles" is invalid: roleRef: Invalid value: .*cannot change roleRef$/,
  },
  {
    name: 'fields of a StatefulSet that stay',
    before: statefulSet('one'),
    asked: statefulSet('two'),
    reason: 'UpdatePayloadResourceInvalid',
    says: /StatefulSet\.apps "store" is invalid: spec: Forbidden: updates to statefulset spec for fields other than/,
  },
  {
    name: 'the value of a PriorityClass',
    before: object('scheduling.k8s.io/v1', 'PriorityClass', 'high', { value: 1 }, ''),
    asked: object('scheduling.k8s.io/v1', 'PriorityClass', 'high', { value: 2 }, ''),
    reason: 'UpdatePayloadResourceInvalid',
    says: /PriorityClass\.scheduling\.k8s\.io "high" is invalid: value: .*(may not be changed in an update|field is immutable)/,
  },
  {
    name: 'a namespace that is missing',
    asked: configMap('lost', { a: '1' }, {}, 'nowhere'),
    reason: 'UpdatePayloadResourceNotFound',
    says: /configmap "nowhere\/lost" .*: namespaces "nowhere" not found$/,
  },
  {
    name: 'a namespace that is ending',
    asked: configMap('late', { a: '1' }, {}, 'ending'),
    reason: 'UpdatePayloadResourceForbidden',
    says: /configmaps "late" is forbidden: unable to create new content in namespace ending because it is being terminated$/,
  },
  {
    name: 'a kind that is not known',
    asked: object('test.flotilla.io/v1', 'Raft', 'r', {}),
    reason: 'UpdatePayloadResourceTypeMissing',
    says: /raft "refused\/r" .*: no matches for kind "Raft" in version "test\.flotilla\.io\/v1"$/i,
  },
  {
    name: 'a version that is gone',
    asked: object('extensions/v1beta1', 'Ingress', 'i', {}),
    reason: 'UpdatePayloadResourceTypeMissing',
    says: /no matches for kind "Ingress" in version "extensions\/v1beta1"$/,
  },
  {
    name: 'an object that is too large',
    asked: configMap('large', { a: 'x'.repeat(1_100_000) }, {}, NS),
    reason: 'UpdatePayloadResourceInvalid',
    says: /ConfigMap "large" is invalid: .*Too long: may not be more than 1048576 bytes$/,
  },
  {
    name: 'a request that is too large',
    asked: configMap('huge', { a: 'x'.repeat(3_500_000) }, {}, NS),
    reason: 'UpdatePayloadFailed',
    says: /configmap "refused\/huge" .*: Request entity too large: limit is 3145728$/,
  },
  {
    name: 'a field of the wrong type',
    asked: boat('typed', { sails: 'three' }),
    reason: 'UpdatePayload',
    says: /spec\.sails.*(must be of type integer|expected numeric|integer)/,
  },
  {
    name: 'a value beyond its bounds',
    asked: boat('bound', { sails: 9 }),
    reason: 'UpdatePayloadResourceInvalid',
    says: /Boat\.test\.flotilla\.io "bound" is invalid: spec\.sails: Invalid value: 9: spec\.sails in body should be less than or equal to 3$/,
  },
  {
    name: 'a value that is none of the known',
    asked: boat('known', { colour: 'green' }),
    reason: 'UpdatePayloadResourceInvalid',
    says: /spec\.colour: Unsupported value: "green": supported values: "white", "red"/,
  },
  {
    name: "a rule of a definition's own",
    asked: boat('ruled', { sails: 2 }),
    reason: 'UpdatePayloadResourceInvalid',
    says: /"ruled" is invalid: spec: Invalid value: .*two sails are one too few$/,
  },
  {
    name: 'a definition that is none',
    asked: definition('ships', 'Ship', { type: 'object', properties: { spec: {} } }),
    reason: 'UpdatePayloadResourceInvalid',
    says: /"ships\.test\.flotilla\.io" is invalid: .*properties\[spec\]\.type: Required value: must not be empty/,
  },
  {
    name: 'a label that is none',
    asked: configMap('labels', { a: '1' }, { labels: { app: 'not a label' } }, NS),
    reason: 'UpdatePayloadResourceInvalid',
    says: /ConfigMap "labels" is invalid: metadata\.labels: Invalid value: "not a label": a valid label must be/,
  },
];

const own: TestRelease = { version: '4.1.0', files: {} };
let operator: RunningOperator | undefined;

test('a real server refuses in twenty ways and more', () => expect(cases.length).toBeGreaterThanOrEqual(20));

test('each refusal is told in the words of the server, with its object, and once in the log', { timeout: 400_000 }, async () => {
  for (const { before } of cases) {
    if (!before) continue;
    const { apiVersion, kind, metadata, ...rest } = KubeObject.loose().parse(before);
    const plural = `${String(kind).toLowerCase()}${String(kind).endsWith('s') ? 'es' : 's'}`;
    const fixed = metadata.name === 'fixed' ? { immutable: true } : {};
    await world.client.create(
      group(String(apiVersion), String(kind), plural, metadata.namespace !== undefined),
      KubeObject.parse({ metadata, ...rest, ...fixed }),
    );
  }
  const lines: { level: string; said?: string; manifest?: string; reason?: string }[] = [];
  const logger = createLogger({
    name: 'version-operator',
    level: 'warn',
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  operator = world.run(
    own,
    cases.map(({ asked }, index) => releaseOf(index, asked)),
    { logger, clock: hurried },
  );
  await world.completed(own);
  const failing = async () => (await world.version())?.status?.conditions?.find(({ type }) => type === 'Failing');
  const missed: unknown[] = [];
  for (const [index, { name, asked, reason, says }] of cases.entries()) {
    const next = releaseOf(index, asked);
    await world.ask({ desiredUpdate: { version: next.version, image: imageOf(next), force: true } });
    const told = await world
      .until(async () => {
        const found = await failing();
        return found?.status === 'True' && found.reason?.startsWith(reason) && says.test(found.message ?? '') && found;
      }, REFUSED_AFTER_MS)
      .catch(async () => void missed.push([name, await failing()]));
    if (!told) continue;
    const { message } = told;
    expect(message.length, name).toBeLessThan(1_500);
    expect(message, name).not.toMatch(/[\p{C}]/u);
    await world.until(async () => lines.some(({ said }) => said === message));
    expect(
      lines.filter(({ said }) => said === message),
      name,
    ).toEqual([expect.objectContaining({ level: 'warn', said: message })]);
  }
  expect(missed).toEqual([]);
  await operator.stop();
});

/** The release of one case. */
const releaseOf = (index: number, asked: Json): TestRelease => ({
  version: `4.1.${index + 1}`,
  files: { '0000_50_case_00_object.json': [asked] },
});
