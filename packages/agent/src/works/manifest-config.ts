import { type ManifestConfig, type ManifestStatus, UpdateStrategyType } from '@flotilla/api/ocm';

/** `status.resourceStatus.manifests[].resourceMeta`. */
export type ResourceMeta = ManifestStatus['resourceMeta'];
type Identifier = ManifestConfig['resourceIdentifier'];
type Json = Readonly<Record<string, unknown>>;

/** Finds a manifest's options as the stock agent does: each one comes from the first matching entry that has it, the scrape type from the last. */
export function configOf(configs: readonly ManifestConfig[] | null | undefined, meta: ResourceMeta): ManifestConfig | undefined {
  const matching = (configs ?? []).filter(({ resourceIdentifier }) => matchesResource(resourceIdentifier, meta));
  const last = matching.at(-1);
  if (!last) return undefined;
  return {
    resourceIdentifier: last.resourceIdentifier,
    feedbackRules: matching.find(({ feedbackRules }) => feedbackRules && feedbackRules.length > 0)?.feedbackRules,
    updateStrategy: matching.find(({ updateStrategy }) => updateStrategy)?.updateStrategy,
    feedbackScrapeType: last.feedbackScrapeType,
  };
}

/** True when an identifier of a work's options means this object; `*` stands for any text in name and namespace alone (spec/ocm 4.1). */
export const matchesResource = (identifier: Identifier, meta: ResourceMeta): boolean =>
  (identifier.group ?? '') === (meta.group ?? '') &&
  identifier.resource === meta.resource &&
  matchesText(identifier.namespace ?? '', meta.namespace ?? '') &&
  matchesText(identifier.name, meta.name ?? '');

/** Matches without a regular expression: the pattern comes from the hub, and many `*` would make one slow. */
function matchesText(pattern: string, text: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop();
  if (tail === undefined) return pattern === text;
  if (!text.startsWith(head)) return false;
  let from = head.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return text.length - tail.length >= from && text.endsWith(tail);
}

/** Says which option for a manifest this agent does not understand; undefined when it understands all. */
export function refusalOfConfigs(configs: readonly ManifestConfig[] | null | undefined, meta: ResourceMeta): string | undefined {
  for (const [index, config] of (configs ?? []).entries()) {
    const refusal = mayMean(config.resourceIdentifier, meta) ? refusalOf(config) : undefined;
    if (refusal !== undefined) return `manifestConfigs[${index}].${refusal}`;
  }
  return undefined;
}

/** True as well for `*` where it stands for nothing: its author meant this object. */
const mayMean = ({ group = '', resource, ...identifier }: Identifier, meta: ResourceMeta): boolean =>
  matchesText(group, meta.group ?? '') &&
  matchesText(resource, meta.resource ?? '') &&
  matchesResource({ ...identifier, group: meta.group, resource: meta.resource ?? '' }, meta);

const KNOWN = {
  config: ['resourceIdentifier', 'feedbackRules', 'updateStrategy', 'feedbackScrapeType', 'conditionRules'],
  identifier: ['group', 'resource', 'name', 'namespace'],
  updateStrategy: ['type', 'serverSideApply'],
  serverSideApply: ['force', 'fieldManager', 'ignoreFields'],
  ignoreFields: ['condition', 'jsonPaths'],
};
const STRATEGIES: readonly string[] = UpdateStrategyType;

function refusalOf(config: ManifestConfig): string | undefined {
  const { resourceIdentifier, updateStrategy, feedbackScrapeType, conditionRules } = config;
  for (const field of ['group', 'resource'] as const)
    if (resourceIdentifier[field]?.includes('*'))
      return `resourceIdentifier.${field} ${JSON.stringify(resourceIdentifier[field])}: "*" stands for any text in name and namespace alone: write the ${field} out`;
  if (Array.isArray(conditionRules) && conditionRules.length > 0)
    return 'conditionRules are not supported by this agent, which would go on changing the object: remove them, and read values back by feedbackRules';
  if (updateStrategy?.type && !STRATEGIES.includes(updateStrategy.type))
    return `updateStrategy.type ${JSON.stringify(updateStrategy.type)} is unknown: use ${STRATEGIES.join(', ')}`;
  if (feedbackScrapeType && feedbackScrapeType !== 'Poll' && feedbackScrapeType !== 'Watch')
    return `feedbackScrapeType ${JSON.stringify(feedbackScrapeType)} is unknown: use Poll or Watch`;
  const unknown =
    unknownField(config, KNOWN.config, '') ??
    unknownField(resourceIdentifier, KNOWN.identifier, 'resourceIdentifier.') ??
    unknownField(updateStrategy, KNOWN.updateStrategy, 'updateStrategy.') ??
    unknownField(updateStrategy?.serverSideApply, KNOWN.serverSideApply, 'updateStrategy.serverSideApply.') ??
    (updateStrategy?.serverSideApply?.ignoreFields ?? [])
      .map((rule) => unknownField(rule, KNOWN.ignoreFields, 'updateStrategy.serverSideApply.ignoreFields[].'))
      .find((field) => field !== undefined);
  return unknown && `${unknown} is unknown to this agent: remove it, or install an agent that knows it`;
}

const unknownField = (object: Json | null | undefined, known: readonly string[], path: string): string | undefined => {
  const field = Object.keys(object ?? {}).find((key) => !known.includes(key));
  return field === undefined ? undefined : path + field;
};
