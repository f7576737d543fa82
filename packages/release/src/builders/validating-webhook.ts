import { ManifestAnnotation } from '@flotilla/api/config';
import { type Json, objectAt, objectsAt } from '../json-values.ts';
import { merged } from './merged.ts';

/** ValidatingWebhookConfigurations: the list of webhooks is the manifest's (spec/cvo 3.6). */
export const validatingWebhookConfiguration = merged((live, built) => {
  const caBundle = liveBundle(live);
  return { webhooks: objectsAt(built.webhooks).map((webhook) => withDefaults(webhook, caBundle)) };
});

function liveBundle(live: Json): unknown {
  if (objectAt(objectAt(live.metadata).annotations)[ManifestAnnotation.injectCaBundle] !== 'true') return undefined;
  return objectAt(objectsAt(live.webhooks)[0]?.clientConfig).caBundle;
}

function withDefaults(webhook: Json, caBundle: unknown): Json {
  const client = objectAt(webhook.clientConfig);
  return {
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
    ...webhook,
    clientConfig: {
      ...client,
      ...(client.service !== undefined && { service: { port: 443, ...objectAt(client.service) } }),
      ...(caBundle !== undefined && { caBundle }),
    },
    rules: objectsAt(webhook.rules).map((rule) => ({ scope: '*', ...rule })),
  };
}
