/** Values that the templates of `manifests/` may name. */
export interface TemplateValues {
  /** Pull spec of the release that is applied. */
  readonly releaseImage: string;
  readonly clusterProfile: string;
  readonly images: ReadonlyMap<string, string>;
}

/** A template that names what there is not, or does more than the templates of a payload do. */
export class TemplateError extends Error {}

/**
 * Fills in a template of `manifests/` as Go's text/template does. It knows `{{.ReleaseImage}}`, `{{.ClusterProfile}}`,
 * `{{index .Images "name"}}`, `{{.Images.name}}`, texts, comments, and the signs that trim blanks.
 * @throws TemplateError for anything else
 */
export function renderTemplate(text: string, values: TemplateValues): string {
  const actions = /\{\{(-\s)?\s*/g;
  let [rendered, from, isTrimmed] = ['', 0, false];
  for (;;) {
    actions.lastIndex = from;
    const action = actions.exec(text);
    const before = text.slice(from, action?.index);
    const begun = isTrimmed ? before.replace(/^[ \t\r\n]+/, '') : before;
    rendered += action?.[1] === undefined ? begun : trimEnd(begun);
    if (action === null) return rendered;
    const { value, rest } = readOperand(text.slice(actions.lastIndex), values);
    const end = /^\s*?(\s-)?\}\}/.exec(rest);
    if (!end) throw new TemplateError(`a template does what is not supported at line ${lineOf(text, action.index)}`);
    rendered += value;
    isTrimmed = end[1] !== undefined;
    from = text.length - rest.length + end[0].length;
  }
}

function trimEnd(text: string): string {
  let end = text.length;
  while (end > 0 && ' \t\r\n'.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

const lineOf = (text: string, index: number): number => text.slice(0, index).split('\n').length;

interface Operand {
  readonly value: string;
  readonly rest: string;
}

function readOperand(text: string, values: TemplateValues): Operand {
  const operand =
    /^(?:\/\*[^*]*(?:\*(?!\/)[^*]*)*\*\/|index\s+\.Images\s+"([^"\\]*)"|(\.[A-Za-z_][\w.]*)|("(?:[^"\\\n]|\\.)*")|`([^`]*)`)/.exec(text);
  if (!operand) return { value: '', rest: text };
  const [all, component, field, quotedText, rawText] = operand;
  const rest = text.slice(all.length);
  if (component !== undefined) return { value: values.images.get(component) ?? '', rest };
  if (field !== undefined) return { value: valueOfField(field, values), rest };
  return { value: quotedText === undefined ? (rawText ?? '') : unquote(quotedText), rest };
}

function valueOfField(field: string, { releaseImage, clusterProfile, images }: TemplateValues): string {
  if (field === '.ReleaseImage') return releaseImage;
  if (field === '.ClusterProfile') return clusterProfile;
  // as Go prints what a map has not
  if (field.startsWith('.Images.')) return images.get(field.slice('.Images.'.length)) ?? '<no value>';
  throw new TemplateError(`a template names ${field}; there are .ReleaseImage, .ClusterProfile and .Images`);
}

function unquote(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch (cause) {
    throw new TemplateError(`a template has a text that cannot be read: ${text.slice(0, 80)}`, { cause });
  }
}
