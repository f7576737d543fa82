/** Renders a kubeconfig with one cluster and one user, known by a token. */
export const renderKubeconfig = (access: { server: string; certificateAuthority: string; token: string }): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'cluster',
        cluster: { server: access.server, 'certificate-authority-data': Buffer.from(access.certificateAuthority).toString('base64') },
      },
    ],
    users: [{ name: 'user', user: { token: access.token } }],
    contexts: [{ name: 'cluster', context: { cluster: 'cluster', user: 'user' } }],
    'current-context': 'cluster',
  });
