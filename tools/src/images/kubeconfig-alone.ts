import { join } from 'node:path';
import type { Plugin } from 'esbuild';

const GENERATED = 'generated-client';

/**
 * Of the Kubernetes client our programs use its kubeconfig alone, and that uses two of the generated modules. Without this esbuild reads all 850,
 * which is half of its time, and keeps half a megabyte that it cannot prove unused. A module that has moved fails the build.
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
