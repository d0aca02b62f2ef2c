// libcurl's own header, and what of it Swift cannot import.
#pragma once
// The macros that check the types of variadic arguments would hide the functions.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#if !CURL_AT_LEAST_VERSION(7, 80, 0)
#error "Nacre needs libcurl 7.80 or newer: before it nothing says when a request begins to be sent"
#endif

// `curl_easy_setopt` is variadic; so are the functions under the next seven.
static inline CURLcode nacre_curl_set_number(CURL *handle, CURLoption option, long value) { return curl_easy_setopt(handle, option, value); }
static inline CURLcode nacre_curl_set_size(CURL *handle, CURLoption option, curl_off_t value) { return curl_easy_setopt(handle, option, value); }
static inline CURLcode nacre_curl_set_text(CURL *handle, CURLoption option, const char *value) { return curl_easy_setopt(handle, option, value); }
static inline CURLcode nacre_curl_set_pointer(CURL *handle, CURLoption option, const void *value) { return curl_easy_setopt(handle, option, value); }

static inline long nacre_curl_number(CURL *handle, CURLINFO info) {
    long value = 0;
    return curl_easy_getinfo(handle, info, &value) == CURLE_OK ? value : 0;
}

static inline CURLMcode nacre_curl_multi_set_number(CURLM *multi, CURLMoption option, long value) { return curl_multi_setopt(multi, option, value); }

/// What a transfer is called back with; each function gets `context` as its pointer.
struct nacre_curl_callbacks {
    void *context;
    size_t (*on_header)(char *bytes, size_t size, size_t count, void *context);
    size_t (*on_body)(char *bytes, size_t size, size_t count, void *context);
    size_t (*on_pull)(char *bytes, size_t size, size_t count, void *context);
    int (*on_seek)(void *context, curl_off_t offset, int origin);
    int (*on_progress)(void *context, curl_off_t toReceive, curl_off_t received, curl_off_t toSend, curl_off_t sent);
    int (*on_connected)(void *context, char *remoteAddress, char *localAddress, int remotePort, int localPort);
};

/// Whether an address is somebody's on the Internet: of IPv4 none of RFC 6890's, of IPv6 global unicast without what carries an IPv4 address in it.
static inline int nacre_is_public(const struct sockaddr *address) {
    if (address->sa_family == AF_INET) {
        static const struct { unsigned start, bits; } others[] = {
            { 0x00000000, 8 }, { 0x0a000000, 8 }, { 0x64400000, 10 }, { 0x7f000000, 8 }, { 0xa9fe0000, 16 }, { 0xac100000, 12 }, { 0xc0000000, 24 },
            { 0xc0000200, 24 }, { 0xc0586300, 24 }, { 0xc0a80000, 16 }, { 0xc6120000, 15 }, { 0xc6336400, 24 }, { 0xcb007100, 24 }, { 0xe0000000, 3 },
        };
        unsigned host = ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr);
        for (size_t index = 0; index < sizeof others / sizeof *others; index++)
            if ((host ^ others[index].start) >> (32 - others[index].bits) == 0) return 0;
        return 1;
    }
    if (address->sa_family == AF_INET6) {
        const unsigned char *bytes = ((const struct sockaddr_in6 *)address)->sin6_addr.s6_addr;
        unsigned high = (unsigned)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
        // 2000::/3, without 2001::/23 (protocols, Teredo), 2002::/16 (6to4), and 2001:db8::/32 and 3fff::/20 (examples).
        return high >> 29 == 1 && high >> 9 != 0x20010000u >> 9 && high >> 16 != 0x2002u && high != 0x20010db8u && high >> 12 != 0x3fff0u;
    }
    return 0;
}

/// Opens a socket that no child process inherits: libcurl's own stay open over `exec`. With a context, for a public address alone.
static inline curl_socket_t nacre_curl_open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)purpose;
    if (context != NULL && !nacre_is_public(&address->addr)) return CURL_SOCKET_BAD;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/// Function pointers among variadic arguments.
static inline void nacre_curl_set_callbacks(CURL *handle, const struct nacre_curl_callbacks *callbacks) {
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, callbacks->on_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, callbacks->context);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, callbacks->on_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, callbacks->context);
    curl_easy_setopt(handle, CURLOPT_READFUNCTION, callbacks->on_pull);
    curl_easy_setopt(handle, CURLOPT_READDATA, callbacks->context);
    curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, callbacks->on_seek);
    curl_easy_setopt(handle, CURLOPT_SEEKDATA, callbacks->context);
    curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, callbacks->on_progress);
    curl_easy_setopt(handle, CURLOPT_XFERINFODATA, callbacks->context);
    curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, callbacks->on_connected);
    curl_easy_setopt(handle, CURLOPT_PREREQDATA, callbacks->context);
    curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, &nacre_curl_open_socket);
}

/// HTTP and HTTPS alone. The option's name depends on libcurl's version.
static inline void nacre_curl_only_http(CURL *handle) {
#if CURL_AT_LEAST_VERSION(7, 85, 0)
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

/// Does not wait for a name that is still looked up when its transfer is taken away: the one thread would stand still. libcurl before 7.87
/// cannot do without that wait.
static inline void nacre_curl_leave_lookups(CURL *handle) {
#if CURL_AT_LEAST_VERSION(7, 87, 0)
    curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
#else
    (void)handle;
#endif
}

// Macros that are expressions.
static const size_t nacre_curl_pause_body = CURL_WRITEFUNC_PAUSE;
static const size_t nacre_curl_pause_pull = CURL_READFUNC_PAUSE;
static const size_t nacre_curl_abort_pull = CURL_READFUNC_ABORT;

/// Names the calling thread, which `prctl` does with variadic arguments, and keeps signals from it: an app's handlers run on the app's own
/// threads, and a connection that is gone is an error here and no SIGPIPE.
static inline void nacre_curl_prepare_thread(const char *name) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    prctl(PR_SET_NAME, (unsigned long)name, 0UL, 0UL, 0UL);
}

/// What is left of a mail's text.
struct nacre_curl_text {
    const char *bytes;
    size_t left;
};

static inline size_t nacre_curl_read_text(char *buffer, size_t size, size_t count, void *context) {
    struct nacre_curl_text *text = context;
    size_t some = size * count < text->left ? size * count : text->left;
    memcpy(buffer, text->bytes, some);
    text->bytes += some;
    text->left -= some;
    return some;
}

/// Sends a mail over SMTP and returns once the server has taken it, or has not. Blocks, `seconds` at most.
static inline CURLcode nacre_curl_send_mail(
    const char *url, const char *user, const char *password, const char *from, const char *to, const char *bytes, size_t count,
    long wants_tls, long seconds, long *reply) {
    CURL *handle = curl_easy_init();
    struct curl_slist *receivers = curl_slist_append(NULL, to);
    struct nacre_curl_text text = { bytes, count };
    CURLcode code = CURLE_OUT_OF_MEMORY;
    *reply = 0;
    if (handle != NULL && receivers != NULL) {
        curl_easy_setopt(handle, CURLOPT_URL, url);
#if CURL_AT_LEAST_VERSION(7, 85, 0)
        curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
#else
        curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_SMTP | CURLPROTO_SMTPS));
#endif
        curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(handle, CURLOPT_PROXY, "");
        curl_easy_setopt(handle, CURLOPT_TIMEOUT, seconds);
        curl_easy_setopt(handle, CURLOPT_USE_SSL, (long)(wants_tls ? CURLUSESSL_ALL : CURLUSESSL_TRY));
        curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, &nacre_curl_open_socket);
        if (user != NULL) curl_easy_setopt(handle, CURLOPT_USERNAME, user);
        if (password != NULL) curl_easy_setopt(handle, CURLOPT_PASSWORD, password);
        curl_easy_setopt(handle, CURLOPT_MAIL_FROM, from);
        curl_easy_setopt(handle, CURLOPT_MAIL_RCPT, receivers);
        curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(handle, CURLOPT_READFUNCTION, &nacre_curl_read_text);
        curl_easy_setopt(handle, CURLOPT_READDATA, &text);
        code = curl_easy_perform(handle);
        *reply = nacre_curl_number(handle, CURLINFO_RESPONSE_CODE);
    }
    curl_slist_free_all(receivers);
    curl_easy_cleanup(handle);
    return code;
}
