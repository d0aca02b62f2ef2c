"""nginx as a plain keeper of files: WebDAV's PUT, each file and its folder synced before the file has its name, and GET by sendfile."""

import os
import subprocess

from . import client
from .nacre import stop, wait_until_ready

CONFIGURATION = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
    access_log off; sendfile on; tcp_nopush on; client_max_body_size 1g; client_body_buffer_size 64k; keepalive_requests 1000000;
    client_body_temp_path {folder}/incoming; proxy_temp_path {folder}/t1; fastcgi_temp_path {folder}/t2; uwsgi_temp_path {folder}/t3; scgi_temp_path {folder}/t4;
    server {{ listen 127.0.0.1:{port}; root {folder}/files; location / {{ dav_methods PUT DELETE; create_full_put_path on; }} }}
}}
"""

# nginx syncs nothing: what it answers for is not on the disk. This goes before the C library.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <unistd.h>
static void sync_path(const char *path, int flags) { int file = open(path, O_RDONLY | flags); if (file >= 0) { fsync(file); close(file); } }
int rename(const char *from, const char *to) {
    static int (*next)(const char *, const char *);
    if (!next) next = dlsym(RTLD_NEXT, "rename");
    sync_path(from, 0);
    int result = next(from, to);
    char copy[4096];
    strncpy(copy, to, sizeof copy - 1); copy[sizeof copy - 1] = 0;
    sync_path(dirname(copy), O_DIRECTORY);
    return result;
}
"""


class Nginx:
    name = "nginx"

    def __init__(self, binary, folder):
        self.folder, self.port = folder, client.free_port()
        for name in ("files", "incoming", "logs"):
            os.makedirs(f"{folder}/{name}")
        with open(f"{folder}/shim.c", "w") as file:
            file.write(SHIM)
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", f"{folder}/shim.so", f"{folder}/shim.c", "-ldl"], check=True)
        with open(f"{folder}/nginx.conf", "w") as file:
            file.write(CONFIGURATION.format(folder=folder, port=self.port))
        with open(f"{folder}/files/ready", "w") as file:
            file.write("yes")
        self.process = subprocess.Popen(
            [binary, "-c", f"{folder}/nginx.conf", "-p", folder], env=dict(os.environ, LD_PRELOAD=f"{folder}/shim.so"),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        wait_until_ready(self.process, self.port, "/ready")

    def stop(self):
        stop(self.process)
