import { buildReleaseHead, buildSignersOf, buildReleased as object, type ReleaseFiles } from '@flotilla/release/testing';

/** Manifests of an edge release: operators that run one workload each, and who signs the next release. Pure. */

/** Operators of every edge release, in the order of its graph. Each has a ClusterOperator and a Deployment of its name. */
export const EDGE_OPERATORS = ['gateway', 'store'] as const;
/** Namespace of operators and workloads. */
export const EDGE_NAMESPACE = 'openshift-edge';
const namespace = EDGE_NAMESPACE;
/** Name of the image that all operators run. */
export const OPERATOR_IMAGE = 'edge-operator';

const ACCOUNT = 'edge-operator';

/** What the manifests of one release are made from. */
interface EdgeManifestsInput {
  readonly version: string;
  /** Pull specs by the name that the release has for them. */
  readonly images: Readonly<Record<string, string>>;
  /** Armored key of whoever signs releases. */
  readonly publicKey: string;
}

/** All files of a release image. */
export function edgeManifests({ version, images, publicKey }: EdgeManifestsInput): ReleaseFiles {
  const files: Record<string, object> = {
    ...buildReleaseHead(version, images),
    'manifests/0000_00_edge_00_namespace.json': object('v1', 'Namespace', EDGE_NAMESPACE),
    // The store is asked when no signature is in the cluster. This one answers nobody: signatures come with the upgrade.
    'release-manifests/0000_05_keys_00.json': buildSignersOf(publicKey, 'https://signatures.flotilla.test'),
    'release-manifests/0000_10_edge_00_account.json': object('v1', 'ServiceAccount', ACCOUNT, { namespace }),
    ...rights(),
  };
  for (const [index, name] of EDGE_OPERATORS.entries()) {
    const prefix = `release-manifests/0000_${index + 3}0_${name}`;
    files[`${prefix}_10_deployment.json`] = operator(name, version, images);
    files[`${prefix}_20_clusteroperator.json`] = object('config.openshift.io/v1', 'ClusterOperator', name, {
      spec: {},
      status: { versions: ['operator', name].map((each) => ({ name: each, version })) },
    });
  }
  return files;
}

/** Operators write their Deployments and their ClusterOperators, nothing else. */
function rights(): Record<string, object> {
  const subjects = [{ kind: 'ServiceAccount', name: ACCOUNT, namespace: EDGE_NAMESPACE }];
  const group = 'rbac.authorization.k8s.io';
  const write = ['get', 'list', 'watch', 'create', 'update', 'patch'];
  const reports = { apiGroups: ['config.openshift.io'], resources: ['clusteroperators', 'clusteroperators/status'], verbs: write };
  const workloads = { apiGroups: ['apps'], resources: ['deployments'], verbs: write };
  return {
    'release-manifests/0000_10_edge_10_clusterrole.json': object(`${group}/v1`, 'ClusterRole', ACCOUNT, { rules: [reports] }),
    'release-manifests/0000_10_edge_11_clusterrolebinding.json': object(`${group}/v1`, 'ClusterRoleBinding', ACCOUNT, {
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: ACCOUNT },
      subjects,
    }),
    'release-manifests/0000_10_edge_12_role.json': object(`${group}/v1`, 'Role', ACCOUNT, { namespace, rules: [workloads] }),
    'release-manifests/0000_10_edge_13_rolebinding.json': object(`${group}/v1`, 'RoleBinding', ACCOUNT, {
      namespace,
      roleRef: { apiGroup: group, kind: 'Role', name: ACCOUNT },
      subjects,
    }),
  };
}

function operator(name: string, version: string, images: Readonly<Record<string, string>>): object {
  const labels = { app: `${name}-operator` };
  const settings = { name, namespace: EDGE_NAMESPACE, release: version, image: images[name] };
  return object('apps/v1', 'Deployment', `${name}-operator`, {
    namespace,
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      // Two of them would report by turns.
      strategy: { type: 'Recreate' },
      template: {
        metadata: { labels: { ...labels, version } },
        spec: {
          serviceAccountName: ACCOUNT,
          terminationGracePeriodSeconds: 5,
          containers: [
            {
              name: 'operator',
              image: images[OPERATOR_IMAGE],
              imagePullPolicy: 'IfNotPresent',
              args: Object.entries(settings).map(([option, value]) => `--${option}=${value}`),
            },
          ],
        },
      },
    },
  });
}
