/* core/pool.c - threads that run the chunks of one gr__pool_run, called a region here, at a time. */
#include "core/library.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

/* A thread, and its share of the chunks of the region. */
typedef struct { _Alignas(64) atomic_size_t next; size_t end; gr_pool *pool; int thread; pthread_t id; } worker;

struct gr_pool {
    gr_allocator memory;
    size_t bytes;                /* of the pool, with its workers */
    int threads;                 /* how many run, with the caller's */
    pid_t pid;                   /* of the process that has the workers */
    volatile char *here;         /* 1 in that process and 0 in a forked child; NULL means: compare pid */
    /* the current region: the caller writes these before it raises `region`, and workers read them after they saw it change */
    gr_task *f;
    void *argument;
    bool stop;
    _Alignas(64) atomic_size_t region;  /* how many regions were begun and ended: odd inside of a region */
    _Alignas(64) atomic_int inside;     /* workers that may be in it */
    _Alignas(64) atomic_int parked;     /* workers that wait on wake */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    worker workers[];            /* the first is the caller */
};

enum {
    SPINS = 1500,      /* how often a thread that waits only pauses, some tens of microseconds, before it yields: a busy neighbour then gets the core */
    IDLE_SPINS = 5000, /* of a worker between regions, in all, before it sleeps: about 0.6 ms, longer than what runs between two operators */
};

/* The i-th time in a row. */
static void wait_a_little(int i)
{
    if (i >= SPINS) { sched_yield(); return; }
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

/* ---- After fork() a child has none of the workers. Linux 4.14 can clear a page in the child, which costs nothing to read; getpid() is a
 * system call that took 140 to 200 ns, and regions take 5 us and more. ---- */

static void mark_process(gr_pool *p)
{
    p->pid = getpid();
#ifdef MADV_WIPEONFORK
    const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    char *const page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    if (madvise(page, bytes, MADV_WIPEONFORK)) munmap(page, bytes);
    else *page = 1, p->here = page;
#endif
}

static void unmark_process(gr_pool *p)
{
    (void)p;
#ifdef MADV_WIPEONFORK
    if (p->here) munmap((char *)p->here, (size_t)sysconf(_SC_PAGESIZE));
#endif
}

static bool is_forked(const gr_pool *p) { return p->here ? !*p->here : p->pid != getpid(); }

/* ---- Regions ---- */

/* Chunk i is in the share of thread i * threads / chunks, rounded down. A thread that has done its share takes chunks of the others', so that
 * nobody waits for a thread that sleeps or that the system has stopped before its next chunk. */
static void run_chunks(gr_pool *p, int thread)
{
    for (int k = 0; k < p->threads; k++) {
        worker *const share = &p->workers[(thread + k) % p->threads];
        for (size_t i; (i = atomic_fetch_add(&share->next, 1)) < share->end;) p->f(p->argument, i, thread);
    }
}

static void wait_for_region(gr_pool *p, size_t seen)
{
    for (int i = 0; i < IDLE_SPINS; i++) {
        if (atomic_load(&p->region) != seen) return;
        wait_a_little(i);
    }
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->parked, 1); /* before the test: gr__pool_run raises region, then looks at parked */
    while (atomic_load(&p->region) == seen) pthread_cond_wait(&p->wake, &p->lock);
    atomic_fetch_sub(&p->parked, 1);
    pthread_mutex_unlock(&p->lock);
}

static void *work(void *argument)
{
    const worker *w = argument;
    gr_pool *const p = w->pool;
    for (size_t seen = 0;;) {
        wait_for_region(p, seen);
        seen = atomic_load(&p->region);
        atomic_fetch_add(&p->inside, 1); /* from here on the region cannot end, unless it has ended already */
        const bool open = seen % 2 && atomic_load(&p->region) == seen, stop = open && p->stop;
        if (open && !stop) run_chunks(p, w->thread);
        atomic_fetch_sub(&p->inside, 1);
        if (stop) return NULL;
    }
}

static void begin_region(gr_pool *p)
{
    atomic_fetch_add(&p->region, 1);
    if (!atomic_load(&p->parked)) return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

void gr__pool_run(gr_pool *p, size_t chunks, gr_task *f, void *argument)
{
    if (!f) return;
    if (!p || p->threads == 1 || chunks < 2 || is_forked(p)) {
        for (size_t i = 0; i < chunks; i++) f(argument, i, 0);
        return;
    }
    const size_t threads = (size_t)p->threads;
    p->f = f, p->argument = argument;
    for (size_t k = 0; k < threads; k++)
        atomic_store(&p->workers[k].next, (k * chunks + threads - 1) / threads), p->workers[k].end = ((k + 1) * chunks + threads - 1) / threads;
    begin_region(p);
    run_chunks(p, 0);
    atomic_fetch_add(&p->region, 1);
    for (int i = 0; atomic_load(&p->inside); i++)
        wait_a_little(i);
}

/* ---- Life ---- */

gr_pool *gr_pool_new(int threads, const gr_allocator *allocator)
{
    const gr_allocator memory = allocator ? *allocator : gr_default_allocator();
    const int wanted = threads < 1 ? 1 : threads > 256 ? 256 : threads;
    const size_t bytes = sizeof(gr_pool) + (size_t)wanted * sizeof(worker);
    gr_pool *const p = gr_memory_new(&memory, bytes);
    if (!p) return NULL;
    *p = (gr_pool){ .memory = memory, .bytes = bytes, .threads = 1, .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };
    mark_process(p);
    for (int i = 1; i < wanted; i++) {
        worker *w = &p->workers[i];
        w->pool = p, w->thread = i;
        if (pthread_create(&w->id, NULL, work, w)) break;
        p->threads++;
    }
    return p;
}

void gr_pool_free(gr_pool *p)
{
    if (!p) return;
    if (!is_forked(p)) { /* in a child, a thread that does not exist may hold the lock, and pthread_cond_destroy would wait for it */
        p->stop = true;
        begin_region(p);
        for (int i = 1; i < p->threads; i++) pthread_join(p->workers[i].id, NULL);
        pthread_cond_destroy(&p->wake);
        pthread_mutex_destroy(&p->lock);
    }
    unmark_process(p);
    gr_memory_free(&p->memory, p, p->bytes);
}

double gr__pool_least(gr_pool *p) { return p && atomic_load(&p->parked) ? 50000 : 5000; }
int gr__pool_threads(const gr_pool *p) { return p && !is_forked(p) ? p->threads : 1; }
