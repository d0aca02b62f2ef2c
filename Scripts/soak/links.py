"""A device's way to the server, which can be cut, refused, slow, or a hole that swallows bytes."""

import asyncio

PIECE = 1 << 16
# How often a connection that waits looks whether its device is still there.
HOLE_SECONDS = 0.02


class Link:
    def __init__(self, server):
        """`server`: its `port` is asked for each connection, since a server that starts again has another one."""
        self.server, self.writers = server, set()
        self.heal()

    async def open(self):
        self.listener = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.port = self.listener.sockets[0].getsockname()[1]

    def close(self):
        self.listener.close()
        self.cut()

    def heal(self):
        self.refuses, self.holes, self.delay = False, set(), 0

    def cut(self):
        for writer in self.writers:
            writer.transport.abort()

    async def accept(self, reader, writer):
        try:
            if self.refuses:
                raise ConnectionRefusedError
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, far_writer}
        self.writers |= both
        pumps = [asyncio.create_task(self.pump("up", reader, far_writer)), asyncio.create_task(self.pump("down", far_reader, writer))]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            self.writers -= both
            for each in both:
                each.close()

    async def pump(self, way, reader, writer):
        try:
            while piece := await reader.read(PIECE):
                while way in self.holes:
                    await asyncio.sleep(HOLE_SECONDS)
                    # Bytes of a device that is gone by now never arrive: they would come after those that it sends next time.
                    if reader.at_eof() or reader.exception():
                        return
                if self.delay:
                    await asyncio.sleep(self.delay)
                writer.write(piece)
                await writer.drain()
        except OSError:
            pass
