import { isSame, isSameButZeros, type Json, objectAt, textAt } from '../json-values.ts';
import { type Builder, failed, type Judging, type ObjectVerdict, ready, waiting } from './builder.ts';
import { keepGiven } from './contracts.ts';
import { covers } from './covers.ts';
import { withoutLeftovers } from './leftovers.ts';
import { mergeMetadata } from './merge.ts';
import { conditionOf } from './rollout.ts';

/** CustomResourceDefinitions: the whole spec is the manifest's, but for a CA bundle that somebody else puts there (spec/cvo 3.6, 3.8). */
export const customResourceDefinition: Builder = {
  build: (manifest) => manifest,
  merge,
  resembles: (live, next) => isSame(live.metadata, next.metadata) && isSameButZeros(live.spec, next.spec, isSameDefault),
  judge,
};

function merge(object: Json, built: Json): Json {
  const live = withoutLeftovers(object, built);
  return keepGiven(live, {
    ...live,
    metadata: mergeMetadata(live.metadata, built.metadata),
    spec: withDefaults(objectAt(built.spec)),
  });
}

/** A server fills the defaults of a schema into its defaults. */
const isSameDefault = (key: string, live: unknown, wanted: unknown): boolean => key === 'default' && covers(live, wanted);

function withDefaults(spec: Json): Json {
  const names = objectAt(spec.names);
  const kind = textAt(names.kind);
  const { strategy = 'None', webhook, ...conversion } = objectAt(spec.conversion);
  const client = objectAt(objectAt(webhook).clientConfig);
  return {
    ...spec,
    names: { singular: kind.toLowerCase(), listKind: `${kind}List`, ...names },
    conversion: {
      ...conversion,
      strategy,
      ...(webhook !== undefined && {
        webhook: {
          ...objectAt(webhook),
          ...(client.service !== undefined && { clientConfig: { ...client, service: { port: 443, ...objectAt(client.service) } } }),
        },
      }),
    },
  };
}

/** Not yet served is on its way for a moment, and then a failure as the reference words it. */
function judge(live: Json, { state }: Judging): ObjectVerdict {
  const established = conditionOf(objectAt(live.status), 'Established');
  if (state === 'Initializing' || established?.status === 'True') return ready;
  const name = textAt(objectAt(live.metadata).name);
  const parts = { reason: 'UpdatePayloadFailed', names: [name] };
  if (!established)
    return waiting({ ...parts, message: `CustomResourceDefinition ${name} does not declare an Established status condition` });
  const { status, reason, message } = established;
  const text = `CustomResourceDefinition ${name} Established=${textAt(status)}, ${textAt(reason)}: ${textAt(message)}`;
  return reason === 'Installing' ? waiting({ ...parts, message: text }) : failed({ ...parts, message: text });
}
