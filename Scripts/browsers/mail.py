"""An SMTP server that takes every mail and keeps it."""

import socketserver
import threading


class MailSink:
    def __init__(self):
        self.mails = []
        sink = self

        class Conversation(socketserver.StreamRequestHandler):
            def handle(self):
                self.say("220 sink")
                while line := self.rfile.readline():
                    word = line[:4].upper()
                    if word == b"DATA":
                        self.say("354 go on")
                        text = b""
                        while (line := self.rfile.readline()) not in (b".\r\n", b""):
                            text += line
                        sink.mails.append(text.decode())
                    self.say("221 bye" if word == b"QUIT" else "250 ok")
                    if word == b"QUIT":
                        return

            def say(self, text):
                self.wfile.write(f"{text}\r\n".encode())

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Conversation)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
