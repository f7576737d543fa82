import { isJsonObject } from '@flotilla/api';
import type { Json } from './schema.ts';

type Rule = (self: unknown) => boolean;

const objects = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
const textOf = (value: unknown): number => (typeof value === 'string' ? Array.from(value).length : 0);
const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);
const messages = (value: unknown): number => sum(objects(value).map(({ message }) => textOf(message)));
const part = (value: unknown, key: string): unknown => (isJsonObject(value) ? value[key] : undefined);
const has = (value: unknown, key: string): boolean => part(value, key) !== undefined;
const isEmpty = (value: unknown): boolean => value === undefined || value === '';

const feedback = (value: unknown): number =>
  sum(
    objects(part(value, 'values')).map(
      (one) => textOf(one.name) + textOf(part(one.fieldValue, 'string')) + textOf(part(one.fieldValue, 'jsonRaw')),
    ),
  );

function keepsLifecycleManager(self: unknown): boolean {
  const capabilities = part(part(self, 'spec'), 'capabilities');
  const added = part(capabilities, 'additionalEnabledCapabilities');
  if (!Array.isArray(added) || part(capabilities, 'baselineCapabilitySet') !== 'None' || !added.includes('marketplace')) return true;
  const enabled = part(part(part(self, 'status'), 'capabilities'), 'enabledCapabilities');
  return [added, enabled].some((list) => Array.isArray(list) && list.includes('OperatorLifecycleManager'));
}

const LIFECYCLE_MANAGER =
  "!has(self.spec.capabilities) || !has(self.spec.capabilities.additionalEnabledCapabilities) || !has(self.spec.capabilities.baselineCapabilitySet) || self.spec.capabilities.baselineCapabilitySet != 'None' || !('marketplace' in self.spec.capabilities.additionalEnabledCapabilities) || 'OperatorLifecycleManager' in self.spec.capabilities.additionalEnabledCapabilities || (has(self.status) && has(self.status.capabilities) && has(self.status.capabilities.enabledCapabilities) && 'OperatorLifecycleManager' in self.status.capabilities.enabledCapabilities)";
const MANIFEST_TEXTS =
  'self.map(each, each.conditions.map(one, size(one.message)).sum() + (has(each.statusFeedback) && has(each.statusFeedback.values) ? each.statusFeedback.values.map(one, size(one.name) + (has(one.fieldValue.string) ? size(one.fieldValue.string) : 0) + (has(one.fieldValue.jsonRaw) ? size(one.fieldValue.jsonRaw) : 0)).sum() : 0)).sum() <= 262144';

/** Every CEL rule of the CRDs that are served, by its text: a CRD with another is refused, because nobody would judge by it. */
const RULES: Readonly<Record<string, Rule>> = {
  'self >= 0': (self) => Number(self) >= 0,
  'self.map(each, size(each.message)).sum() <= 32768': (self) => messages(self) <= 32_768,
  'self.all(name, size(name) <= 128)': (self) => (isJsonObject(self) ? Object.keys(self) : []).every((name) => textOf(name) <= 128),
  'self.map(each, (has(each.name) ? size(each.name) : 0) + (has(each.value) ? size(each.value) : 0)).sum() <= 32768': (self) =>
    sum(objects(self).map(({ name, value }) => textOf(name) + textOf(value))) <= 32_768,
  'self.map(each, has(each.conditions) ? each.conditions.map(one, size(one.message)).sum() : 0).sum() <= 8192': (self) =>
    sum(objects(self).map(({ conditions }) => messages(conditions))) <= 8_192,
  [MANIFEST_TEXTS]: (self) =>
    sum(objects(self).map(({ conditions, statusFeedback }) => messages(conditions) + feedback(statusFeedback))) <= 262_144,
  "!has(self.architecture) || self.architecture == '' || (has(self.version) && self.version != '')": (self) =>
    isEmpty(part(self, 'architecture')) || !isEmpty(part(self, 'version')),
  "!has(self.architecture) || !has(self.image) || self.architecture == '' || self.image == ''": (self) =>
    isEmpty(part(self, 'architecture')) || isEmpty(part(self, 'image')),
  [LIFECYCLE_MANAGER]: (self) => !has(part(self, 'spec'), 'capabilities') || keepsLifecycleManager(self),
};

/** The rule of a CRD as a function of the value that it is about; undefined for one that is not known here. */
export const knownRule = (rule: string): Rule | undefined => RULES[rule];
