import { expect, test } from 'vitest';
import { createLogger, prettyLine, SECRET_KEYS } from './logger.ts';

test.each([...SECRET_KEYS])('the value of %s is redacted at every depth', (key) => {
  const lines: string[] = [];
  const logger = createLogger({ name: 't', destination: { write: (line) => void lines.push(line) } });
  const secret = { [key]: 'hush' };
  logger.info(secret, 'Top');
  logger.info({ a: secret, b: { c: secret, d: { e: secret } } }, 'Nested');
  logger.child({ request: secret }).info({ headers: [secret] }, 'Child');
  expect(lines).toHaveLength(3);
  expect(lines.join('')).not.toContain('hush');
  expect(lines.join('')).toContain('[redacted]');
});

test('a line has level, name, time and message', () => {
  const lines: string[] = [];
  createLogger({ name: 't', level: 'warn', destination: { write: (line) => void lines.push(line) } }).warn(
    { cluster: 's1' },
    'Draining node',
  );
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 'warn', name: 't', cluster: 's1', msg: 'Draining node' }]);
});

test('pretty lines are short, and what is no JSON stays as it is', () => {
  expect(
    prettyLine(
      '{"level":"info","time":"2026-01-01T10:00:00.123Z","name":"t","msg":"Draining node","cluster":"s1","n":{"a":1},"err":{"message":"no"}}',
    ),
  ).toBe('10:00:00.123 INFO  Draining node cluster=s1 n={"a":1} err="no"\n');
  expect(prettyLine('oops')).toBe('oops');
});
