import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runCommand } from './command.ts';
import { freePorts } from './free-port.ts';

const FREE_PORT = fileURLToPath(new URL('free-port.ts', import.meta.url));

test('gives no port twice, though nobody uses those it gave', async () => {
  const ports = await freePorts(300);
  const more = await freePorts(300);
  expect(new Set([...ports, ...more]).size).toBe(600);
});

test('gives a port that can be listened on', async () => {
  const [port] = await freePorts(1);
  await using server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  expect(server.address()).toMatchObject({ port });
});

const obstacle = process.platform === 'linux' ? undefined : 'only Linux keeps names of abstract sockets';

test('gives no port that another process was given', async ({ skip }) => {
  if (obstacle) return skip(obstacle);
  const ours = await freePorts(2_000);
  const program = `import { freePorts } from ${JSON.stringify(FREE_PORT)}; console.log(JSON.stringify(await freePorts(2000)));`;
  const theirs = JSON.parse(await runCommand(process.execPath, ['--input-type=module', '-e', program]));
  expect(theirs).toHaveLength(2_000);
  expect(ours.filter((port) => theirs.includes(port))).toEqual([]);
});

test('gives no port that the kernel picks for connections', async ({ skip }) => {
  if (obstacle) return skip(obstacle);
  await using server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const kernel = typeof address === 'object' && address ? address.port : 0;
  expect(Math.max(...(await freePorts(50)))).toBeLessThan(kernel);
});
