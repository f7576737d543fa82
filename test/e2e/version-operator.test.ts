import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterVersion, configCrds } from '@flotilla/api/config';
import { Namespace } from '@flotilla/api/core';
import { runCommand } from '@flotilla/control-plane/processes';
import { applyCrds, type Cluster, clusterObstacle, type Registry, startCluster, startRegistry } from '@flotilla/control-plane/servers';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { eventually } from '@flotilla/pace/testing';
import { RegistryClient } from '@flotilla/registry';
import { pushFiles } from '@flotilla/registry/testing';
import {
  buildReleased,
  buildReleaseHead,
  buildSignersOf,
  releaseTexts,
  signatureContent,
  signed,
  type TestKey,
  testKey,
} from '@flotilla/release/testing';
import type { Client } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildImages } from '../../tools/src/images/build-images.ts';
import { hostArchitecture } from '../../tools/src/images/cache-folder.ts';
import { pushImages } from '../../tools/src/images/push-images.ts';

const obstacle = clusterObstacle();
if (obstacle) console.log(`skipped: ${obstacle}`);

const REF = { name: 'version' };
const REGISTRY = 'registry.flotilla.test';
const APPS = ['gateway', 'store', 'console'] as const;
const UP_MS = 150_000;

/** Answers with its version until it is told to stop, and then for as long as somebody may still be sent to it. */
const serve = `const s=require('http').createServer((q,r)=>r.end(process.env.VERSION)).listen(8080);
process.on('SIGTERM',()=>setTimeout(()=>process.exit(0),4000))`;
/** Asks every service over and over, each time on a connection of its own, and prints what it has counted once a second. */
const ask = `const http=require('http');const counts={asked:0,failed:0,versions:{},last:''};
const one=(name)=>new Promise((done)=>{counts.asked++;const fail=(e)=>{counts.failed++;counts.last=name+' '+e;done()};
const q=http.get({host:name,port:80,agent:false,timeout:5000},(r)=>{let t='';r.on('data',(d)=>t+=d);r.on('end',()=>{counts.versions[name+' '+t]=(counts.versions[name+' '+t]||0)+1;done()});r.on('error',fail)});
q.on('timeout',()=>q.destroy(new Error('timeout')));q.on('error',fail)});
for(const name of process.env.SERVICES.split(','))(async()=>{for(;;){await one(name);await new Promise((r)=>setTimeout(r,50))}})();
setInterval(()=>console.log(JSON.stringify(counts)),1000)`;

let registry: Registry;
let cluster: Cluster;
let client: Client;
let pusher: RegistryClient;
let signatures: Server;
let root = '';
let operatorImage = '';
let key: TestKey;
const signatureOf = new Map<string, Uint8Array>();

const manifest = (apiVersion: string, kind: string, name: string, rest: object) =>
  buildReleased(apiVersion, kind, name, { namespace: 'edge', ...rest });
const template = (name: string, version: string) => ({
  metadata: { labels: { app: name } },
  spec: {
    terminationGracePeriodSeconds: 10,
    containers: [
      {
        name: 'app',
        image: operatorImage,
        command: ['/usr/local/bin/node', '-e', serve],
        env: [{ name: 'VERSION', value: version }],
        ports: [{ containerPort: 8080 }],
        readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 },
      },
    ],
  },
});
const gapless = { maxUnavailable: 0, maxSurge: 1 };
const service = (name: string) =>
  manifest('v1', 'Service', name, { spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }] } });

/** Files of a release: Deployments, a DaemonSet, their Services, and who signs the next release. */
function releaseFiles(version: string, storeUrl: string): Record<string, object> {
  const files: Record<string, object> = {
    ...buildReleaseHead(version, { app: operatorImage }),
    'manifests/0000_00_cluster-version-operator_00.json': buildReleased('v1', 'Namespace', 'edge'),
    'release-manifests/0000_05_keys_00.json': buildSignersOf(key.publicKey.armor(), storeUrl),
    'release-manifests/0000_30_agent_00.json': service('agent'),
    'release-manifests/0000_30_agent_01.json': manifest('apps/v1', 'DaemonSet', 'agent', {
      spec: {
        selector: { matchLabels: { app: 'agent' } },
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: gapless },
        template: template('agent', version),
      },
    }),
  };
  for (const [index, name] of APPS.entries()) {
    files[`release-manifests/0000_2${index}_${name}_00.json`] = service(name);
    files[`release-manifests/0000_2${index}_${name}_01.json`] = manifest('apps/v1', 'Deployment', name, {
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: name } },
        strategy: { type: 'RollingUpdate', rollingUpdate: gapless },
        template: template(name, version),
      },
    });
  }
  return files;
}

/** Pushes a release; says its pull spec as the cluster knows it. Signed when it is said so. */
async function pushRelease(version: string, storeUrl: string): Promise<string> {
  const repository = 'releases/release';
  const files = releaseTexts(releaseFiles(version, storeUrl));
  const digest = await pushFiles(pusher, `127.0.0.1:${registry.port}/${repository}:${version}`, files);
  signatureOf.set(digest.replace(':', '='), await signed(signatureContent(digest), key));
  return `${cluster.gatewayAddress}:${registry.port}/${repository}@${digest}`;
}

const version = async () => (await client.get(ClusterVersion, REF)) ?? expect.fail('no ClusterVersion');
const completed = (wanted: string) =>
  eventually(
    async () => {
      const { status } = await version();
      const [newest] = status?.history ?? [];
      const told = status?.conditions?.map(({ type, status: is, message }) => `${type}=${is} ${message}`).join('; ');
      if (newest?.state !== 'Completed' || newest.version !== wanted) throw new Error(`${newest?.version} ${newest?.state}: ${told}`);
      return newest;
    },
    `release ${wanted}`,
    UP_MS,
  );
interface Counts {
  readonly asked: number;
  readonly failed: number;
  readonly last: string;
  readonly versions: Readonly<Record<string, number>>;
}
const counts = async (): Promise<Counts> => {
  const lines = (await cluster.kubectl(['-n', 'default', 'logs', 'asker', '--tail=1'])).trim();
  return JSON.parse(lines);
};
/** Waits until each service has answered in a version; what is counted then. */
function allAnswer(wanted: string): Promise<Counts> {
  return eventually(
    async () => {
      const now = await counts();
      return Object.keys(now.versions).filter((key) => key.endsWith(` ${wanted}`)).length === APPS.length + 1 && now;
    },
    `every service to answer in ${wanted}`,
    UP_MS,
  );
}

describe.skipIf(obstacle !== undefined)('the version operator on a whole cluster', () => {
  let storeUrl = '';

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'flotilla-version-operator-'));
    key = await testKey();
    signatures = createServer((request, response) => {
      const [, digest = '', name] = (request.url ?? '').split('/');
      const found = name === 'signature-1' ? signatureOf.get(digest) : undefined;
      response.writeHead(found ? 200 : 404).end(found);
    });
    await new Promise<void>((resolve) => signatures.listen(0, '0.0.0.0', resolve));
    [registry, cluster] = await Promise.all([startRegistry({ host: '0.0.0.0' }), startCluster({ name: 'appliance' })]);
    client = cluster.client();
    pusher = new RegistryClient({ insecureHosts: [`127.0.0.1:${registry.port}`] });
    await cluster.addRegistry({ host: REGISTRY, endpoint: `http://${cluster.gatewayAddress}:${registry.port}` });
    const built = await buildImages({
      output: join(root, 'images'),
      apps: ['version-operator'],
      architectures: [hostArchitecture()],
      superseded: 'newest',
    });
    const [pushed] = await pushImages(built, { client: pusher, prefix: `127.0.0.1:${registry.port}/flotilla`, tag: 'test' });
    const digest = pushed?.pullSpec.split('@')[1] ?? expect.fail('no image');
    operatorImage = `${REGISTRY}/flotilla/version-operator@${digest}`;
    const address = signatures.address();
    storeUrl = `http://${cluster.gatewayAddress}:${typeof address === 'object' ? address?.port : 0}`;

    await applyCrds(client, configCrds());
    for (const name of ['openshift-config-managed', 'openshift-config', 'openshift-talo-pre-cache'])
      await client.create(Namespace, { metadata: { name } });
    await client.create(ClusterVersion, { metadata: REF, spec: { clusterID: crypto.randomUUID() } });
    const values = {
      clusterName: 'appliance',
      hub: { kubeconfigSecret: 'none' },
      image: { repository: `${REGISTRY}/flotilla/spoke-agent` },
      versionOperator: {
        enabled: true,
        image: { repository: `${REGISTRY}/flotilla/version-operator`, digest },
        release: await pushRelease('4.20.1', storeUrl),
        registry: { insecure: [`${cluster.gatewayAddress}:${registry.port}`] },
      },
    };
    const helm = (await ensureTools(['helm'])).path('helm');
    const templates = ['version-operator.yaml', 'version-operator-rbac.yaml'].flatMap((name) => ['--show-only', `templates/${name}`]);
    const chart = join(import.meta.dirname, '../../charts/spoke');
    const rendered = await runCommand(helm, ['template', 'spoke', chart, '--namespace', 'default', '--values', '-', ...templates], {
      input: JSON.stringify(values),
      env: { HELM_CACHE_HOME: root, HELM_CONFIG_HOME: root, HELM_DATA_HOME: root },
    });
    await cluster.kubectl(['apply', '-f', '-'], { input: rendered });
  });
  afterAll(async () => {
    await cluster?.stop();
    await registry?.stop();
    await pusher?.close();
    signatures?.closeAllConnections();
    signatures?.close();
    if (root) await rm(root, { recursive: true, force: true });
  });

  test('installs the release that it is given, from the registry by digest', async () => {
    await completed('4.20.1');
    await cluster.kubectl(['-n', 'edge', 'wait', 'deployments', '--all', '--for=condition=Available', '--timeout=120s'], {
      timeoutMs: 130_000,
    });
    await cluster.kubectl(['-n', 'edge', 'rollout', 'status', 'daemonset/agent', '--timeout=60s']);
    // by address: there is no DNS in this cluster
    const services = await cluster.kubectl([
      '-n',
      'edge',
      'get',
      'services',
      '-o',
      'jsonpath={range .items[*]}{.metadata.name}={.spec.clusterIP}{" "}{end}',
    ]);
    const addresses = services
      .trim()
      .split(' ')
      .map((line) => line.split('=')[1]);
    const asker = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'asker', namespace: 'default' },
      spec: {
        containers: [
          {
            name: 'asker',
            image: operatorImage,
            command: ['/usr/local/bin/node', '-e', ask],
            env: [{ name: 'SERVICES', value: addresses.join(',') }],
          },
        ],
      },
    };
    await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(asker) });
    await cluster.kubectl(['-n', 'default', 'wait', 'pod/asker', '--for=condition=Ready', '--timeout=60s']);
    const { versions } = await eventually(
      async () => {
        const now = await counts();
        return Object.keys(now.versions).length === addresses.length && now;
      },
      'every service to answer',
      UP_MS,
    );
    expect(Object.keys(versions).every((key) => key.endsWith(' 4.20.1'))).toBe(true);
  });

  test('updates running Deployments and a DaemonSet, and no request fails', async () => {
    const image = await pushRelease('4.20.2', storeUrl);
    const before = await counts();
    const start = performance.now();
    await client.patch(ClusterVersion, REF, { spec: { desiredUpdate: { version: '4.20.2', image } } }, { type: 'merge' });
    expect(await completed('4.20.2')).toMatchObject({ verified: true, image });
    const after = await allAnswer('4.20.2');
    console.log(
      `updated in ${((performance.now() - start) / 1000).toFixed(1)} s: ${after.asked - before.asked} requests, ${after.failed - before.failed} failed ${after.last}`,
    );
    expect({ isBusy: after.asked - before.asked > 200, failed: after.failed - before.failed }).toEqual({ isBusy: true, failed: 0 });
  });

  test('updates to a release that a pre-cache was for while the link is cut, and no request fails', async () => {
    const image = await pushRelease('4.20.3', storeUrl);
    const spec = { metadata: { name: 'pre-cache-spec', namespace: 'openshift-talo-pre-cache' }, data: { 'platform.image': image } };
    await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', ...spec }) });
    await eventually(
      async () =>
        (await cluster.kubectl(['-n', 'default', 'logs', 'deployment/spoke-flotilla-spoke-version-operator'])).includes(
          'The files of a release are at hand',
        ),
      'the files of the release',
      60_000,
    );
    await cluster.cutLink();
    try {
      const before = await counts();
      const start = performance.now();
      await client.patch(ClusterVersion, REF, { spec: { desiredUpdate: { version: '4.20.3', image } } }, { type: 'merge' });
      expect(await completed('4.20.3')).toMatchObject({ verified: true, image });
      const after = await allAnswer('4.20.3');
      console.log(
        `link cut: updated in ${((performance.now() - start) / 1000).toFixed(1)} s: ${after.asked - before.asked} requests, ${after.failed - before.failed} failed ${after.last}`,
      );
      expect({ isBusy: after.asked - before.asked > 200, failed: after.failed - before.failed }).toEqual({ isBusy: true, failed: 0 });
    } finally {
      await cluster.restoreLink();
    }
  });
});
