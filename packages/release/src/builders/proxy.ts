import { ManifestAnnotation } from '@flotilla/api/config';
import { UpdateError } from '../graph/update-error.ts';
import { type Json, objectAt, objectsAt, textAt } from '../json-values.ts';
import type { BuildContext } from './builder.ts';

/** A workload with the cluster's proxy in the containers that ask for it (spec/cvo 3.7). */
export function injectProxy(manifest: Json, { proxy }: BuildContext): Json {
  const asked = objectAt(objectAt(manifest.metadata).annotations)[ManifestAnnotation.injectProxy];
  if (typeof asked !== 'string' || asked === '' || !proxy) return manifest;
  const { httpProxy, httpsProxy, noProxy } = proxy;
  if (httpProxy === '' && httpsProxy === '' && noProxy === '') return manifest;
  const env = [
    { name: 'HTTP_PROXY', value: httpProxy },
    { name: 'HTTPS_PROXY', value: httpsProxy },
    { name: 'NO_PROXY', value: noProxy },
  ].filter(({ value }) => value !== '');
  return withEnv(manifest, new Set(asked.split(',').map((name) => name.trim())), env);
}

/** A Deployment whose containers reach the API server where the cluster's own components do (spec/cvo 3.7). */
export function injectApiServer(manifest: Json, { apiServerUrl }: BuildContext): Json {
  const url = apiServerUrl ? URL.parse(apiServerUrl) : null;
  if (!url?.hostname) return manifest;
  return withEnv(manifest, new Set(['cluster-version-operator']), [
    { name: 'KUBERNETES_SERVICE_HOST', value: url.hostname },
    { name: 'KUBERNETES_SERVICE_PORT', value: url.port || '443' },
  ]);
}

type Variable = { readonly name: string; readonly value: string };

function withEnv(manifest: Json, names: ReadonlySet<string>, env: readonly Variable[]): Json {
  const spec = objectAt(manifest.spec);
  const template = objectAt(spec.template);
  const pod = objectAt(template.spec);
  const missing = new Set(names);
  const inject = (containers: unknown) =>
    objectsAt(containers).map((container) => {
      if (!names.has(textAt(container.name))) return container;
      missing.delete(textAt(container.name));
      const others = objectsAt(container.env).filter(({ name }) => !env.some((one) => one.name === name));
      return { ...container, env: [...others, ...env] };
    });
  const lists = Object.fromEntries(
    ['containers', 'initContainers'].filter((list) => pod[list] !== undefined).map((list) => [list, inject(pod[list])]),
  );
  const [first] = missing;
  if (first !== undefined)
    throw new UpdateError({
      reason: 'UpdatePayloadFailed',
      message: `requested injection for non-existent container: ${JSON.stringify(first)}`,
    });
  return { ...manifest, spec: { ...spec, template: { ...template, spec: { ...pod, ...lists } } } };
}
