import { describe, expect, test } from 'vitest';
import { renderTemplate, TemplateError } from './template.ts';

const values = { releaseImage: 'host/release:1', clusterProfile: 'ha', images: new Map([['cli', 'host/cli:1']]) };

test.each<{ text: string; want: string }>([
  { text: 'nothing', want: 'nothing' },
  { text: 'a {{.ReleaseImage}} b {{ .ClusterProfile }} c', want: 'a host/release:1 b ha c' },
  { text: '{{index .Images "cli"}} {{.Images.cli}}', want: 'host/cli:1 host/cli:1' },
  { text: '{{index .Images "x"}}|{{.Images.x}}', want: '|<no value>' },
  { text: '{{ "{{ $labels.name }}" }}', want: '{{ $labels.name }}' },
  { text: '{{ "a \\"b\\"" }}{{`{{raw}}`}}', want: 'a "b"{{raw}}' },
  { text: 'a {{/* }} said */}} b', want: 'a  b' },
  { text: 'a {{- .ClusterProfile -}} \n b', want: 'ahab' },
])('$text', ({ text, want }) => expect(renderTemplate(text, values)).toBe(want));

describe('not supported', () => {
  test.each([{ text: '{{ if .X }}' }, { text: '{{ .Other }}' }, { text: '{{ "a' }, { text: '{{}}x{{' }, { text: '{{ "\\x41" }}' }])(
    '$text',
    ({ text }) => expect(() => renderTemplate(text, values)).toThrow(TemplateError),
  );
});
