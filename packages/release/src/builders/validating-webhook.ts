import { type Json, objectAt, objectsAt } from '../json-values.ts';
import { merged } from './merged.ts';

/** ValidatingWebhookConfigurations: the list of webhooks is the manifest's (spec/cvo 3.6). */
export const validatingWebhookConfiguration = merged((_, built) => ({ webhooks: objectsAt(built.webhooks).map(withDefaults) }));

function withDefaults(webhook: Json): Json {
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
    },
    rules: objectsAt(webhook.rules).map((rule) => ({ scope: '*', ...rule })),
  };
}
