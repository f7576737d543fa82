interface EtcdFlags {
  readonly dataDir: string;
  readonly clientPort: number;
  readonly peerPort: number;
}

/** Flags of a one-member etcd on loopback; without fsync, because its data lives no longer than the test. */
export function etcdFlags({ dataDir, clientPort, peerPort }: EtcdFlags): string[] {
  const client = `http://127.0.0.1:${clientPort}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  return [
    `--data-dir=${dataDir}`,
    '--unsafe-no-fsync',
    '--log-level=error',
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    '--quota-backend-bytes=8589934592',
  ];
}

/** Flags of both an API server alone and the one of a cluster. */
interface CommonApiServerFlags {
  readonly etcdPort: number;
  readonly port: number;
  readonly tokenFile: string;
  /** Key that signs service account tokens. */
  readonly keyFile: string;
}

/** Flags of every kube-apiserver of this package. */
export function commonApiServerFlags({ etcdPort, port, tokenFile, keyFile }: CommonApiServerFlags): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    `--secure-port=${port}`,
    `--token-auth-file=${tokenFile}`,
    `--service-account-key-file=${keyFile}`,
    `--service-account-signing-key-file=${keyFile}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    '--service-cluster-ip-range=10.96.0.0/16',
    '--allow-privileged',
  ];
}

/** An API server alone. */
interface ApiServerFlags extends CommonApiServerFlags {
  readonly bindAddress: string;
  readonly certDir: string;
  readonly auditLogPath?: string;
  readonly auditPolicyFile?: string;
}

/** Flags of a kube-apiserver without controllers and nodes. */
export function apiServerFlags(options: ApiServerFlags): string[] {
  const { bindAddress, certDir, auditLogPath, auditPolicyFile } = options;
  return [
    ...commonApiServerFlags(options),
    `--bind-address=${bindAddress}`,
    '--advertise-address=127.0.0.1',
    '--endpoint-reconciler-type=none',
    `--cert-dir=${certDir}`,
    '--authorization-mode=RBAC',
    // Nothing creates service accounts here, so nothing may demand them of pods.
    '--disable-admission-plugins=ServiceAccount',
    ...(auditLogPath ? [`--audit-log-path=${auditLogPath}`] : []),
    ...(auditPolicyFile ? [`--audit-policy-file=${auditPolicyFile}`] : []),
  ];
}
