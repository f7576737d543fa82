import { join } from 'node:path';
import type { Plugin } from 'esbuild';

const GENERATED = 'generated-client';

/**
 * Bundles the kubeconfig of the Kubernetes client without its 850 generated modules, of which it uses two: esbuild would read all of them, and keep
 * half a megabyte that it cannot prove unused. A module that has moved fails the build.
 */
export const kubeconfigAlone: Plugin = {
  name: 'kubeconfig-alone',
  setup(build) {
    build.onResolve({ filter: /^@kubernetes\/client-node$/ }, ({ kind, resolveDir }) =>
      build.resolve('@kubernetes/client-node/dist/config.js', { kind, resolveDir }),
    );
    build.onResolve({ filter: /^\.\/gen\/index\.js$/ }, ({ importer, resolveDir }) =>
      importer.endsWith('client-node/dist/config.js')
        ? { path: 'index', namespace: GENERATED, pluginData: join(resolveDir, 'gen') }
        : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: GENERATED }, ({ pluginData }) => ({
      contents: "export { createConfiguration } from './configuration.js'; export { ServerConfiguration } from './servers.js';",
      resolveDir: pluginData,
    }));
  },
};
