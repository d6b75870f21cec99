/**
 * Attacks with image servers that never send an image, and with URLs from which the daemon must not read
 * an image.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { listen, PATIENCE, repeat } from '../wire.js';

/** Short limits, so that attacks reach them. */
const limits = {
  EMULATOR_TASK_AFTER_SECONDS: 0.5,
  EMULATOR_SHUTDOWN_WAIT_SECONDS: 2,
  EMULATOR_VMEDIA_CONNECT_TIMEOUT_SECONDS: 2,
  EMULATOR_VMEDIA_ANSWER_TIMEOUT_SECONDS: 2,
  EMULATOR_VMEDIA_IDLE_TIMEOUT_SECONDS: 2,
  EMULATOR_VMEDIA_DOWNLOAD_TIMEOUT_SECONDS: 3,
};
/** Returns the shared daemon with these limits. */
const limited = (arena) => arena.share('image limits', () => arena.startBmc({ settings: limits }));

/** Returns the URI of a system, and the beginning of the URIs of its CD drive's actions; callers add `.InsertMedia`. */
async function driveOf(daemon, index = 0) {
  const { json } = await daemon.request({ path: '/redfish/v1/Systems' });
  const system = json.Members[index]['@odata.id'];
  return { system, action: `${system}/VirtualMedia/Cd/Actions/VirtualMedia` };
}

/**
 * Sends a POST. If the answer is a task, waits for the end of the task.
 * @returns the answer of the finished operation.
 */
async function finish(daemon, options) {
  let answer = await daemon.request({ method: 'POST', body: {}, ...options });
  const monitor = answer.headers.location;
  for (const end = Date.now() + PATIENCE * 1000; answer.status === 202; await delay(50)) {
    if (Date.now() > end) throw new Error(`the task of ${options.path} does not end`);
    answer = await daemon.request({ path: monitor });
  }
  return answer;
}

const servers = {
  'answers 101': (socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
  'sends 103 without end': (socket) => repeat(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n', 1),
  'sends its head byte by byte': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nX: ');
    repeat(socket, 'x', 20);
  },
  'sends its body byte by byte': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n');
    repeat(socket, 'x', 20);
  },
  'sends a body without end': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    repeat(socket, 'x'.repeat(4096), 5);
  },
  'sends nothing': () => undefined,
  'redirects to itself': (socket) =>
    socket.end('HTTP/1.1 302 Found\r\nLocation: /again.iso\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'),
  'sends a head without end': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    repeat(socket, `X: ${'x'.repeat(8000)}\r\n`, 5);
  },
};

/** Machines in memory read only the head of an image, so an insert of a hostile body may succeed. */
const insertMaySucceed = (name) => name.includes('body');

const serverAttacks = Object.entries(servers).map(([name, serve]) => ({
  name: `image server ${name}`,
  expected: `the insert ends with ${insertMaySucceed(name) ? '204 or 502' : '502'} within 60 s; power-on, ForceOff and eject get no 5xx; GETs meanwhile take at most 20 s`,
  seconds: 60,
  run: async (arena) => {
    const daemon = await limited(arena);
    const { system, action } = await driveOf(daemon);
    const server = await listen((socket) => socket.once('data', () => serve(socket)));
    try {
      const inserting = finish(daemon, {
        path: `${action}.InsertMedia`,
        body: { Image: `http://127.0.0.1:${server.port}/x.iso` },
      });
      const on = finish(daemon, { path: `${system}/Actions/ComputerSystem.Reset`, body: { ResetType: 'On' } });
      on.catch(() => undefined);
      const inserted = await daemon.attackWhileServing(20, () => inserting);
      const isRight = insertMaySucceed(name) ? [204, 502].includes(inserted.status) : inserted.status === 502;
      if (!isRight) throw new Error(`the insert was answered with ${inserted.status}: ${inserted.text.slice(0, 200)}`);
      if ((await on).status >= 500) throw new Error(`power-on was answered with ${(await on).status}`);
      const off = await finish(daemon, {
        path: `${system}/Actions/ComputerSystem.Reset`,
        body: { ResetType: 'ForceOff' },
      });
      if (off.status >= 500) throw new Error(`ForceOff was answered with ${off.status}`);
      const ejected = await finish(daemon, { path: `${action}.EjectMedia` });
      if (ejected.status >= 500) throw new Error(`the eject was answered with ${ejected.status}`);
    } finally {
      server.close();
    }
  },
}));

const endAttacks = ['answers 101', 'sends its head byte by byte'].map((name) => ({
  name: `SIGTERM while an image server ${name}`,
  expected: 'the daemon ends with exit code 0',
  seconds: 60,
  run: async (arena) => {
    const daemon = await arena.startBmc({
      settings: { EMULATOR_TASK_AFTER_SECONDS: 0.1, EMULATOR_SHUTDOWN_WAIT_SECONDS: 1 },
    });
    const { action } = await driveOf(daemon);
    const server = await listen((socket) => socket.once('data', () => servers[name](socket)));
    try {
      await daemon.request({
        method: 'POST',
        path: `${action}.InsertMedia`,
        body: { Image: `http://127.0.0.1:${server.port}/x.iso` },
      });
      const code = await daemon.stop();
      if (code !== 0) throw new Error(`exit code ${code}`);
    } finally {
      server.close();
    }
  },
}));

const hex = (address) => address.split('.').map((part) => Number(part).toString(16).padStart(2, '0'));

/** Returns an IPv4 address in the notations by which a client may try to hide it. Some make an invalid URL. */
function notations(address) {
  const [a, b, c, d] = hex(address);
  const number = Number(`0x${a}${b}${c}${d}`);
  const octal = address.split('.').map((part) => `0${Number(part).toString(8)}`);
  return [
    address,
    `${address}.`,
    String(number),
    `0x${a}${b}${c}${d}`,
    `0x${a}.0x${b}.0x${c}.0x${d}`,
    octal.join('.'),
    `${octal[0]}.${Number(`0x${b}${c}${d}`)}`,
    `[::ffff:${address}]`,
    `[::ffff:${a}${b}:${c}${d}]`,
    `[0:0:0:0:0:ffff:${a}${b}:${c}${d}]`,
    `[::${address}]`,
    `[::ffff:0:${address}]`,
    `[64:ff9b::${address}]`,
    `[64:ff9b:1::${address}]`,
    `[2002:${a}${b}:${c}${d}::1]`,
    encodeURIComponent(address).replaceAll('.', '%2E'),
    address.replaceAll('.', '\u3002'),
    [...address]
      .map((letter) => (/\d/.test(letter) ? String.fromCodePoint(letter.codePointAt(0) + 0xfee0) : letter))
      .join(''),
    `user@${address}`,
    `127.0.0.1@${address}`,
    `${address}:80`,
  ];
}

const forbidden = [
  ...['169.254.169.254', '168.63.129.16', '100.100.100.200', '192.0.0.192'].flatMap(notations),
  ...['[fe80::1]', '[fd00:ec2::254]', '[fd20:ce::254]', '[ff02::1]', '224.0.0.1', '255.255.255.255'],
];

const isForbidden = ({ status, text }) => status >= 400 && status < 500 && text.includes('allows no images from there');

const hostAttack = {
  name: `forbidden image hosts in ${forbidden.length} notations`,
  expected: 'each gets a 4xx: the settings allow no images from there, or the URL is malformed',
  seconds: 60,
  run: async (arena) => {
    const daemon = await limited(arena);
    const { action } = await driveOf(daemon, 1);
    const accepted = [];
    for (const host of forbidden) {
      const answer = await finish(daemon, { path: `${action}.InsertMedia`, body: { Image: `http://${host}/x.iso` } });
      // A notation that is not a URL is rejected as malformed.
      if (!isForbidden(answer) && !(answer.status === 400 && answer.text.includes('PropertyValueFormatError'))) {
        accepted.push(`${host}: ${answer.status} ${answer.text.slice(0, 120)}`);
      }
    }
    if (accepted.length > 0) throw new Error(accepted.join('; '));
  },
};

const redirectAttack = {
  name: 'image server redirects to a forbidden host',
  expected: 'the insert ends with a 4xx: the settings allow no images from there',
  seconds: 60,
  run: async (arena) => {
    const daemon = await limited(arena);
    const { action } = await driveOf(daemon, 1);
    for (const host of [forbidden[0], arena.random.pick(forbidden.slice(0, 3)), '[::ffff:0:169.254.169.254]']) {
      const server = await listen((socket) =>
        socket.once('data', () =>
          socket.end(
            `HTTP/1.1 302 Found\r\nLocation: http://${host}/x.iso\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
          ),
        ),
      );
      try {
        const body = { Image: `http://127.0.0.1:${server.port}/x.iso` };
        const answer = await finish(daemon, { path: `${action}.InsertMedia`, body });
        if (!isForbidden(answer)) throw new Error(`${host}: ${answer.status} ${answer.text.slice(0, 200)}`);
      } finally {
        server.close();
      }
    }
  },
};

const schemeAttack = {
  name: 'images from files, sockets and other schemes',
  expected: 'each gets a 4xx',
  seconds: 60,
  run: async (arena) => {
    const daemon = await limited(arena);
    const { action } = await driveOf(daemon, 2);
    const urls = [
      'file:///etc/passwd',
      '/etc/passwd',
      'ftp://127.0.0.1/x',
      'gopher://127.0.0.1/',
      'data:,x',
      'javascript:1',
    ];
    for (const Image of [...urls, 'http+unix://x/y', 'nfs://127.0.0.1/x', '', '//127.0.0.1/x', 'http://']) {
      const { status, text } = await finish(daemon, { path: `${action}.InsertMedia`, body: { Image } });
      if (status < 400 || status >= 500) throw new Error(`${Image}: ${status} ${text.slice(0, 200)}`);
    }
  },
};

export const images = [...serverAttacks, ...endAttacks, hostAttack, redirectAttack, schemeAttack];
