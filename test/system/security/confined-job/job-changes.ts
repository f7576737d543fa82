import { z } from 'zod';

/** A Job that is changed in place. */
export type Job = Record<string, unknown>;
type Random = () => number;

const pick = <T>(random: Random, items: readonly T[]): T => {
  const found = items[Math.floor(random() * items.length)];
  if (found === undefined) throw new RangeError('nothing to pick from');
  return found;
};

/** A node of the API server's schema. */
const Schema: z.ZodType<SchemaNode> = z.lazy(() =>
  z.looseObject({
    type: z.string().optional(),
    format: z.string().optional(),
    enum: z.array(z.string()).optional(),
    $ref: z.string().optional(),
    allOf: z.array(Schema).optional(),
    oneOf: z.array(Schema).optional(),
    properties: z.record(z.string(), Schema).optional(),
    items: Schema.optional(),
    additionalProperties: z.union([Schema, z.boolean()]).optional(),
  }),
);
interface SchemaNode {
  type?: string | undefined;
  format?: string | undefined;
  enum?: string[] | undefined;
  $ref?: string | undefined;
  allOf?: SchemaNode[] | undefined;
  oneOf?: SchemaNode[] | undefined;
  properties?: Record<string, SchemaNode> | undefined;
  items?: SchemaNode | undefined;
  additionalProperties?: SchemaNode | boolean | undefined;
}

const Document = z.looseObject({ components: z.looseObject({ schemas: z.record(z.string(), Schema) }) });

/** Every field that a Job of this API server can have, as changes: what Kubernetes gains later is in it then. */
export class JobFields {
  readonly #schemas: Readonly<Record<string, SchemaNode>>;

  /** @param document what the server answers to `/openapi/v3/apis/batch/v1` */
  constructor(document: unknown) {
    this.#schemas = Document.parse(document).components.schemas;
  }

  /** Sets a field somewhere in a Job to a value of its type, down to a random depth; says which. */
  setOne(job: Job, random: Random): string {
    let schema = this.#resolve({ $ref: '#/components/schemas/io.k8s.api.batch.v1.Job' });
    let at: Record<string, unknown> = job;
    const path: string[] = [];
    for (;;) {
      const properties = Object.entries(schema.properties ?? {}).filter(([name]) => path.length > 0 || name === 'spec');
      const [name, child] = pick(random, properties);
      path.push(name);
      const next = at[name];
      const below = this.#resolve(child);
      if (isObject(next) && below.properties && random() < 0.85) [at, schema] = [next, below];
      else if (Array.isArray(next) && below.items && random() < 0.85) {
        const item: unknown = pick(random, next);
        const inside = this.#resolve(below.items);
        if (!isObject(item) || !inside.properties) return this.#set(at, name, child, path, random);
        path.push(typeof item.name === 'string' ? item.name : '');
        [at, schema] = [item, inside];
      } else return this.#set(at, name, child, path, random);
    }
  }

  #set(at: Record<string, unknown>, name: string, schema: SchemaNode, path: readonly string[], random: Random): string {
    at[name] = this.#value(schema, random, 0);
    return `${path.join('.')} := ${JSON.stringify(at[name])?.slice(0, 120)}`;
  }

  #resolve(schema: SchemaNode): SchemaNode {
    const [inherited] = schema.allOf ?? [];
    const ref = schema.$ref ?? inherited?.$ref;
    if (ref === undefined) return schema;
    return this.#schemas[ref.slice(ref.lastIndexOf('/') + 1)] ?? {};
  }

  #value(schema: SchemaNode, random: Random, depth: number): unknown {
    const { type, enum: values, properties = {}, items, additionalProperties, oneOf } = this.#resolve(schema);
    if (values) return pick(random, values);
    if (oneOf) return '1';
    if (type === 'array') return items ? [this.#value(items, random, depth + 1)] : [];
    if (type === 'boolean') return random() < 0.5;
    if (type === 'integer') return Math.floor(random() * 100);
    if (type === 'string') return pick(random, ['a', 'x', '/tmp/x', 'Always', 'pre-cache-agent']);
    if (isObject(additionalProperties)) return { a: this.#value(additionalProperties, random, depth + 1) };
    const names = Object.keys(properties).filter((name) => depth < 4 && (name === 'name' || random() < 0.4));
    return Object.fromEntries(names.map((name) => [name, this.#value(properties[name] ?? {}, random, depth + 1)]));
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

const Items = z.array(z.looseObject({ name: z.string() }));
const Parts = z.object({
  spec: z.looseObject({
    template: z.looseObject({
      metadata: z.looseObject({ annotations: z.record(z.string(), z.string()) }),
      spec: z.looseObject({
        volumes: Items,
        containers: z.array(z.looseObject({ env: Items, volumeMounts: Items, securityContext: z.record(z.string(), z.unknown()) })),
      }),
    }),
  }),
});

/** A copy of a Job with its parts at hand. Throws when it is not one of the hub's. */
export function editable(job: Job) {
  const copy = Parts.loose().parse(structuredClone(job));
  const pod = copy.spec.template.spec;
  const [container] = pod.containers;
  if (!container) throw new RangeError('the Job has no container');
  const named = (items: z.output<typeof Items>, name: string) => {
    const found = items.find((item) => item.name === name);
    if (found) return found;
    const made: Record<string, unknown> & { name: string } = { name };
    items.push(made);
    return made;
  };
  return {
    job: copy as Job,
    spec: copy.spec,
    pod,
    container,
    annotations: copy.spec.template.metadata.annotations,
    variable: (name: string, value: unknown) => void Object.assign(named(container.env, name), { value }),
    mount: (name: string, fields: object) => void Object.assign(named(container.volumeMounts, name), fields),
    volume: (name: string, fields: object) => void Object.assign(named(pod.volumes, name), fields),
  };
}

type Edited = ReturnType<typeof editable>;

/** Changes by hand: what somebody would try, and what the hub may do one day. */
export const CHANGES: Readonly<Record<string, (parts: Edited, random: Random) => void>> = {
  'another tag': ({ container }, random) =>
    void Object.assign(container, { image: `${String(container.image).split(':')[0]}:v${Math.floor(random() * 99)}` }),
  'a digest': ({ container }) =>
    void Object.assign(container, { image: `${String(container.image).split(':')[0]}@sha256:${'a'.repeat(64)}` }),
  'another program of the same folder': ({ container }) => void Object.assign(container, { image: 'registry.example.com/flotilla/hub:1' }),
  'a longer name of the repository': ({ container }) =>
    void Object.assign(container, { image: 'registry.example.com/flotilla/image-puller-x:1' }),
  'a folder below the repository': ({ container }) =>
    void Object.assign(container, { image: 'registry.example.com/flotilla/image-puller/x:1' }),
  'a port that looks like a tag': ({ container }) =>
    void Object.assign(container, { image: 'registry.example.com/flotilla/image-puller:1/x' }),
  'a command': ({ container }) => void Object.assign(container, { command: ['/bin/sh'] }),
  arguments: ({ container }) => void Object.assign(container, { args: ['-e', 'x'] }),
  'a module by NODE_OPTIONS': ({ variable }) => variable('NODE_OPTIONS', '--import=data:text/javascript,evil'),
  'a module after the heap': ({ variable }) => variable('NODE_OPTIONS', '--max-old-space-size=640 --require=/host/run/x'),
  'a module on a second line': ({ variable }) => variable('NODE_OPTIONS', '--max-old-space-size=640\n--require=/x'),
  'another heap': ({ variable }, random) => variable('NODE_OPTIONS', `--max-old-space-size=${Math.floor(random() * 9999)}`),
  LD_PRELOAD: ({ variable }) => variable('LD_PRELOAD', '/host/run/x.so'),
  'a kubeconfig': ({ variable }) => variable('KUBECONFIG', '/host/var/lib/kubelet/kubeconfig'),
  'a variable of the node from elsewhere': ({ container }) =>
    void container.env.push({ name: 'HTTP_PROXY', valueFrom: { secretKeyRef: { name: 'x', key: 'y' } } }),
  'a variable that is there, said again with a module': ({ container }) =>
    void container.env.push({ name: 'NODE_OPTIONS', value: '--import=/host/run/x' }),
  'variables from a ConfigMap': ({ container }) =>
    void Object.assign(container, { envFrom: [{ configMapRef: { name: 'pre-cache-spec' } }] }),
  'a socket': ({ variable }, random) => variable('CRI_SOCKET', `/host/run/r${Math.floor(random() * 99)}/r.sock,/host/run/crio/crio.sock`),
  'a socket above the mounts': ({ variable }) => variable('CRI_SOCKET', '/host/run/../etc/x.sock'),
  'a socket of the pod': ({ variable }) => variable('CRI_SOCKET', '/tmp/x.sock'),
  'a proxy': ({ variable }) => variable('HTTPS_PROXY', 'http://user:secret@proxy.example:3128'),
  'a proxy by another protocol': ({ variable }) => variable('HTTPS_PROXY', 'socks5://proxy.example'),
  'hosts without a proxy': ({ variable }) => variable('NO_PROXY', '.svc,10.0.0.0/8,[fd00::1]'),
  mirrors: ({ variable }) => variable('REGISTRY_CONFIG', '[{"source":"a.example",\n"mirrors":["b.example"]}]'),
  'mirrors that are none': ({ variable }) => variable('REGISTRY_CONFIG', '{}'),
  'a patience': ({ variable }, random) => variable('RETRY_FOR_SECONDS', String(Math.floor(random() * 9999))),
  'a threshold': ({ variable }, random) => variable('IMAGE_GC_HIGH_THRESHOLD_PERCENT', String(1 + Math.floor(random() * 120))),
  authorities: ({ variable }) => variable('REGISTRY_CA', '/etc/config/registry-ca.pem:/host/etc/ssl/certs/x.pem'),
  'authorities of the pod': ({ variable }) => variable('REGISTRY_CA', '/etc/shadow'),
  'a cap': ({ variable }, random) => variable('BANDWIDTH', String(16_384 + Math.floor(random() * 1e9))),
  'a pace': ({ variable }, random) => variable('PROGRESS_SECONDS', String(1 + Math.floor(random() * 99))),
  'a proof': ({ variable }) => variable('MODE', 'prove'),
  'the end of pins': ({ variable }) => variable('MODE', 'unpin'),
  pins: ({ variable }) => variable('PIN_FOR', '11111111-aaaa-4bbb-8ccc-000000000001'),
  'pins by sets': ({ variable }) => variable('PIN_BY', 'pinned-image-set'),
  'pins by sets with a deadline': ({ variable }) => variable('JOB_SECONDS', '14400'),
  'pins by another way': ({ variable }) => variable('PIN_BY', 'ctr'),
  'pins of nobody': ({ variable }) => variable('PIN_FOR', '$(id)'),
  'a mode that is none of its own': ({ variable }) => variable('MODE', 'shell'),
  'the folder of records, which is written': ({ volume, mount, variable }) => {
    volume('record', { hostPath: { path: '/var/lib/flotilla', type: 'DirectoryOrCreate' } });
    mount('record', { mountPath: '/host/var/lib/flotilla' });
    variable('RECORD_DIR', '/host/var/lib/flotilla/precache');
  },
  'another folder by the name of that one': ({ volume, mount }) => {
    volume('record', { hostPath: { path: '/var/lib/kubelet', type: 'DirectoryOrCreate' } });
    mount('record', { mountPath: '/host/var/lib/kubelet' });
  },
  'the folder of records at another place of the pod': ({ volume, mount }) => {
    volume('record', { hostPath: { path: '/var/lib/flotilla', type: 'DirectoryOrCreate' } });
    mount('record', { mountPath: '/host/var/elsewhere' });
  },
  'a deadline': ({ spec }, random) => void Object.assign(spec, { activeDeadlineSeconds: 1 + Math.floor(random() * 9999) }),
  'a grace period': ({ pod }, random) => void Object.assign(pod, { terminationGracePeriodSeconds: Math.floor(random() * 99) }),
  memory: ({ container }, random) =>
    void Object.assign(container, { resources: { requests: { memory: '64Mi' }, limits: { memory: `${1 + Math.floor(random() * 9)}Gi` } } }),
  'a device': ({ container }) => void Object.assign(container, { resources: { limits: { 'example.com/gpu': '1' } } }),
  retries: ({ spec }) => void Object.assign(spec, { backoffLimit: 6 }),
  'two pods': ({ spec }) => void Object.assign(spec, { parallelism: 2, completions: 2 }),
  'a Job that removes itself': ({ spec }) => void Object.assign(spec, { ttlSecondsAfterFinished: 0 }),
  'a selector of its own': ({ spec }) => {
    Object.assign(spec, { manualSelector: true, selector: { matchLabels: { a: 'b' } } });
    Object.assign(spec.template.metadata, { labels: { a: 'b' } });
  },
  'labels of the pod': ({ spec }) => void Object.assign(spec.template.metadata, { labels: { app: 'x' } }),
  'a finalizer': ({ job }) => void Object.assign(job.metadata as object, { finalizers: ['example.com/x'] }),
  'a label of the Job': ({ job }) => void Object.assign(job.metadata as object, { labels: { a: 'b' } }),
  'another name': ({ job }) => void Object.assign(job.metadata as object, { name: 'pre-cache-2' }),
  'a profile by annotation': ({ annotations }) =>
    void Object.assign(annotations, { 'container.apparmor.security.beta.kubernetes.io/pre-cache-container': 'unconfined' }),
  'an annotation of CRI-O': ({ annotations }) => void Object.assign(annotations, { 'io.kubernetes.cri-o.userns-mode': 'auto' }),
  'other constraints': ({ annotations }) => void Object.assign(annotations, { 'openshift.io/required-scc': 'anyuid' }),
  'the constraints of OpenShift': ({ annotations }) => void Object.assign(annotations, { 'openshift.io/required-scc': 'privileged' }),
  'a start hook': ({ container }) => void Object.assign(container, { lifecycle: { postStart: { exec: { command: ['/bin/sh'] } } } }),
  'a probe': ({ container }) => void Object.assign(container, { livenessProbe: { exec: { command: ['/bin/sh'] } } }),
  'a first container': ({ pod, container }) => void Object.assign(pod, { initContainers: [{ ...container, name: 'first' }] }),
  'a second container': ({ pod, container }) => void pod.containers.push({ ...structuredClone(container), name: 'second' }),
  'the host: processes': ({ pod }) => void Object.assign(pod, { hostPID: true }),
  'the host: network': ({ pod }) => void Object.assign(pod, { hostNetwork: true }),
  'another account': ({ pod }) => void Object.assign(pod, { serviceAccountName: 'default' }),
  'a node': ({ pod }) => void Object.assign(pod, { nodeName: 'control-plane-0' }),
  'a toleration': ({ pod }) => void Object.assign(pod, { tolerations: [{ operator: 'Exists' }] }),
  'another class': ({ pod }) => void Object.assign(pod, { priorityClassName: 'system-node-critical' }),
  'the cluster resolver': ({ pod }) => void Object.assign(pod, { dnsPolicy: 'ClusterFirst' }),
  privileges: ({ container }) => void Object.assign(container.securityContext, { privileged: true, allowPrivilegeEscalation: true }),
  'a capability': ({ container }) => void Object.assign(container.securityContext, { capabilities: { drop: ['ALL'], add: ['SYS_ADMIN'] } }),
  'no profile': ({ container }) => void Object.assign(container.securityContext, { seccompProfile: { type: 'Unconfined' } }),
  'a root that can be written': ({ container }) => void Object.assign(container.securityContext, { readOnlyRootFilesystem: false }),
  'no security context': ({ container }) => void Reflect.deleteProperty(container, 'securityContext'),
  'an image as volume': ({ volume, mount }) => {
    volume('code', { image: { reference: 'registry.example.com/evil:1' } });
    mount('code', { mountPath: '/app', readOnly: true });
  },
  'a Secret as volume': ({ volume, mount }) => {
    volume('secret', { secret: { secretName: 'hub-kubeconfig' } });
    mount('secret', { mountPath: '/host/secret', readOnly: true });
  },
  'a folder over the program': ({ mount }) => mount('runtime-socket', { mountPath: '/app' }),
  'a socket folder that can be written': ({ mount }) => mount('runtime-socket', { readOnly: false, recursiveReadOnly: undefined }),
  'a mount that propagates': ({ mount }) => mount('runtime-socket', { mountPropagation: 'HostToContainer', recursiveReadOnly: undefined }),
  'a path inside': ({ mount }) => mount('runtime-socket', { subPath: 'x' }),
  'the root of the node': ({ volume, mount }) => {
    volume('runtime-storage', { hostPath: { path: '/', type: 'Directory' } });
    mount('runtime-storage', { mountPath: '/host/', readOnly: true });
  },
  'another place': ({ volume, mount }, random) => {
    const path = `/var/lib/containerd/${'abcdef'[Math.floor(random() * 6)]}`;
    volume('runtime-storage', { hostPath: { path, type: 'Directory' } });
    mount('runtime-storage', { mountPath: `/host${path}`, readOnly: true });
  },
  'a place by another name': ({ volume, mount }) => {
    volume('more', { hostPath: { path: '/run/containers', type: 'Directory' } });
    mount('more', { mountPath: '/host/run/containers', readOnly: true });
  },
  'a folder that is made': ({ volume, mount }) => {
    volume('runtime-storage', { hostPath: { path: '/var/lib/containerd/x', type: 'DirectoryOrCreate' } });
    mount('runtime-storage', { mountPath: '/host/var/lib/containerd/x', readOnly: true });
  },
  'certificates of docker': ({ volume, mount }) => {
    volume('registry-certs-dir', { hostPath: { path: '/etc/docker/certs.d', type: 'DirectoryOrCreate' } });
    mount('registry-certs-dir', { mountPath: '/host/etc/docker/certs.d', readOnly: true });
  },
  'another ConfigMap': ({ volume }) => volume('config', { configMap: { name: 'x', defaultMode: 420 } }),
  'a mount less': ({ container }, random) => void container.volumeMounts.splice(Math.floor(random() * container.volumeMounts.length), 1),
  'a variable less': ({ container }, random) => void container.env.splice(Math.floor(random() * container.env.length), 1),
};
